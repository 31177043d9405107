#include "runner/judge/axis_samples.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <set>
#include <string>

#include "kernels/tensor/random.h"

namespace msrun {
namespace {

// Places behind one random sum, and of which one is looked at, up to bounds. In float32 an element's rounding is so
// much finer that more of them may be summed.
constexpr std::int64_t places_per_sum = 128;
constexpr std::int64_t places_per_float32_sum = 256;
constexpr std::int64_t places_per_drawn = 512;
constexpr std::int64_t fewest_sums = 4;
constexpr std::int64_t fewest_drawn = 4;
constexpr std::int64_t most_drawn = 16;
// An index that is shorter than so many times what is looked at is cheaper to compute as a whole.
constexpr std::int64_t worthwhile = 8;

class Words {
 public:
  explicit Words(std::uint64_t key) : source_(key) {}
  std::uint32_t next() {
    const std::size_t at = used_++ % words_.size();
    if (at == 0) source_.fill(words_);
    return words_[at];
  }

 private:
  Philox source_;
  std::size_t used_ = 0;
  std::array<std::uint32_t, 64> words_{};
};

std::vector<std::int64_t> draw_places(std::int64_t size, std::int64_t count, Words& words) {
  std::set<std::int64_t> drawn;
  while (static_cast<std::int64_t>(drawn.size()) < count) {
    drawn.insert(static_cast<std::int64_t>(words.next() % static_cast<std::uint64_t>(size)));
  }
  return {drawn.begin(), drawn.end()};
}

SignedSums draw_sums(std::int64_t size, std::int64_t count, Words& words) {
  SignedSums sums{count, {}};
  std::uint32_t bits = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    if (i % 32 == 0) bits = words.next();
    sums.signs.push_back((bits >> (i % 32) & 1U) != 0 ? 1 : -1);
  }
  return sums;
}

std::size_t arguments_of(const MaterialisedCall& call) {
  std::size_t arguments = 0;
  for_each_argument(call, [&](const Tensor&) { ++arguments; });
  return arguments;
}

// The axis of the index in the input of that number, gradients of results behind the arguments; nothing if it has none.
std::optional<std::int64_t> axis_of_input(const AxisSample& sample, std::size_t input, std::size_t arguments) {
  if (input >= arguments) return sample.axis.result;
  const auto found = std::ranges::find(sample.axis.arguments, input, &TensorAxis::Place::tensor);
  return found == sample.axis.arguments.end() ? std::nullopt : std::optional(found->axis);
}

// Of an input, along the axis; the number is that of the input.
using Change = std::function<Tensor(const Tensor& tensor, std::int64_t axis, std::size_t number)>;

// The call with the tensors that have the index changed along it.
MaterialisedCall changed_along(const MaterialisedCall& call, const AxisSample& sample, const Change& change) {
  const std::size_t arguments = arguments_of(call);
  std::size_t at = 0;
  MaterialisedCall changed = with_inputs(call, [&](const Tensor& tensor) {
    const std::size_t number = at++;
    const std::optional<std::int64_t> axis = axis_of_input(sample, number, arguments);
    return axis ? change(tensor, *axis, number) : tensor;
  });
  bool any = false;
  for (std::size_t i = 0; i < changed.requires_grad.size(); ++i) {
    const bool wanted = changed.requires_grad[i] && sample.has_argument(i);
    changed.requires_grad[i] = wanted;
    any = any || wanted;
  }
  if (!any) {
    changed.backward.run = false;
    changed.gradients.clear();
  }
  return changed;
}

}  // namespace

bool AxisSample::has_argument(std::size_t tensor) const {
  return std::ranges::find(axis.arguments, tensor, &TensorAxis::Place::tensor) != axis.arguments.end();
}

double AxisSample::cost() const {
  return static_cast<double>(sums.count + static_cast<std::int64_t>(places.size())) / static_cast<double>(axis.size);
}

std::vector<AxisSample> draw_samples(const Operator& op, const MaterialisedCall& call, std::int64_t result_rank,
                                     std::uint64_t seed) {
  const std::int64_t places = dtype_of_sums(call) == DType::float64 ? places_per_float32_sum : places_per_sum;
  std::vector<AxisSample> samples;
  std::size_t number = 0;
  for (TensorAxis& axis : product_axes(op, call.args, call.kwargs)) {
    const std::size_t index = number++;
    if (axis.result && *axis.result < 0) *axis.result += result_rank;
    if (axis.result && (*axis.result < 0 || *axis.result >= result_rank)) return {};
    const std::int64_t sums = std::max(axis.size / places, fewest_sums);
    const std::int64_t drawn = std::clamp(axis.size / places_per_drawn, fewest_drawn, most_drawn);
    if (axis.size < worthwhile * (sums + drawn)) continue;
    Words words(random_key(seed, call.name, "sample." + std::to_string(index)));
    AxisSample sample{std::move(axis), {}, {}};
    sample.places = draw_places(sample.axis.size, drawn, words);
    sample.sums = draw_sums(sample.axis.size, sums, words);
    samples.push_back(std::move(sample));
  }
  return samples;
}

Tensor at_places(const Tensor& tensor, std::int64_t axis, const std::vector<std::int64_t>& places) {
  const Tensor source = tensor.contiguous();
  Dims shape = source.shape();
  std::size_t outer = 1;
  std::size_t run = size_of(source.dtype());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i < static_cast<std::size_t>(axis)) outer *= static_cast<std::size_t>(shape[i]);
    if (i > static_cast<std::size_t>(axis)) run *= static_cast<std::size_t>(shape[i]);
  }
  const auto size = static_cast<std::size_t>(source.size(axis));
  shape[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(places.size());
  Tensor result(source.dtype(), shape);
  auto* to = result.mutable_data<std::byte>();
  for (std::size_t i = 0; i < outer; ++i) {
    for (const std::int64_t place : places) {
      std::memcpy(to, source.raw() + (i * size + static_cast<std::size_t>(place)) * run, run);
      to += run;
    }
  }
  return result;
}

MaterialisedCall at_places(const MaterialisedCall& call, const AxisSample& sample) {
  return changed_along(call, sample, [&](const Tensor& tensor, std::int64_t axis, std::size_t /*number*/) {
    return at_places(tensor, axis, sample.places);
  });
}

namespace {

// Two row-major tensors of one dtype, one behind the other along an axis.
Tensor joined(const Tensor& first, const Tensor& second, std::int64_t axis) {
  Dims shape = first.shape();
  std::size_t outer = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(axis); ++i) outer *= static_cast<std::size_t>(shape[i]);
  shape[static_cast<std::size_t>(axis)] += second.size(axis);
  Tensor result(first.dtype(), shape);
  auto* to = result.mutable_data<std::byte>();
  for (std::size_t i = 0; i < outer; ++i) {
    for (const Tensor* part : {&first, &second}) {
      const std::size_t run = part->bytes() / outer;
      std::memcpy(to, part->raw() + i * run, run);
      to += run;
    }
  }
  return result;
}

}  // namespace

DType dtype_of_sums(const MaterialisedCall& call) {
  bool is_single = false;
  for_each_argument(call, [&](const Tensor& tensor) { is_single = is_single || tensor.dtype() == DType::float32; });
  return is_single ? DType::float64 : DType::float32;
}

std::vector<std::vector<Tensor>> sums_of_inputs(const MaterialisedCall& call, const std::vector<AxisSample>& samples) {
  const std::size_t arguments = arguments_of(call);
  std::vector<std::vector<Tensor>> all(samples.size());
  std::size_t number = 0;
  for_each_input(call, [&](const Tensor& tensor) {
    std::vector<AxisSums> axes;
    std::vector<Tensor*> targets;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      Tensor& target = all[i].emplace_back();
      const auto axis = axis_of_input(samples[i], number, arguments);
      if (!axis) continue;
      axes.push_back({*axis, &samples[i].sums});
      targets.push_back(&target);
    }
    const std::vector<Tensor> sums = signed_sums(tensor, axes);
    for (std::size_t i = 0; i < sums.size(); ++i) *targets[i] = sums[i];
    ++number;
  });
  return all;
}

MaterialisedCall with_sums(const MaterialisedCall& call, const AxisSample& sample, const std::vector<Tensor>& sums) {
  const DType dtype = dtype_of_sums(call);
  MaterialisedCall changed =
      changed_along(call, sample, [&](const Tensor& tensor, std::int64_t axis, std::size_t number) {
        return joined(sums[number].to(dtype), at_places(tensor, axis, sample.places).to(dtype), axis);
      });
  changed.benchmark_dtype = dtype;
  changed.raises_one_by_one = false;
  changed.hf32 = false;
  return changed;
}

}  // namespace msrun
