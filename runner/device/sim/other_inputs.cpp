#include "runner/device/sim/other_inputs.h"

#include <array>
#include <cstring>

#include "kernels/base/error.h"
#include "kernels/tensor/random.h"
#include "runner/device/sim/damage.h"
#include "runner/device/sim/faults.h"

namespace msrun {
namespace {

bool holds_floats(const Tensor& tensor) {
  return tensor.numel() > 0 && (is_floating(tensor.dtype()) || is_complex(tensor.dtype()));
}

Tensor drawn_anew(const Tensor& tensor, RandomWords& words) {
  const Tensor source = tensor.contiguous();
  Tensor result(source.dtype(), source.shape());
  const std::size_t size = size_of(source.dtype());
  std::byte* to = result.mutable_data<std::byte>();
  std::array<std::uint32_t, 64> drawn{};
  for (std::int64_t i = 0; i < source.numel(); ++i, to += size) {
    const auto at = static_cast<std::size_t>(i) % drawn.size();
    if (at == 0) words.fill(drawn);
    std::memcpy(to, source.raw() + drawn[at] % static_cast<std::uint64_t>(source.numel()) * size, size);
  }
  return result;
}

// change(tensor, number) for every tensor of the call with floats, counted over arguments and gradients of outputs.
template <class F>
MaterialisedCall with_floats(const MaterialisedCall& call, const F& change) {
  int number = 0;
  return with_inputs(call,
                     [&](const Tensor& tensor) { return holds_floats(tensor) ? change(tensor, number++) : tensor; });
}

std::optional<Evaluation> evaluate_if_possible(const Operator& op, const MaterialisedCall& call,
                                               const EvaluationOptions& options) {
  try {
    return evaluate(op, call, options);
  } catch (const SkipError&) {
    return std::nullopt;
  }
}

// A copy that is zero at the last index of the first axis longer than one; nothing if there is no such axis.
std::optional<Tensor> without_last_index(const Tensor& tensor) {
  std::int64_t axis = 0;
  while (axis < tensor.rank() && tensor.size(axis) < 2) ++axis;
  if (axis == tensor.rank() || tensor.numel() == 0) return std::nullopt;
  Tensor result = tensor.clone();
  // The axes before it have one index.
  const std::size_t bytes = result.bytes() / static_cast<std::size_t>(result.size(axis));
  std::memset(result.mutable_data<std::byte>() + result.bytes() - bytes, 0, bytes);
  return result;
}

enum class Difference : std::uint8_t { none, zero_where_it_differs, other };

Difference difference(const Tensor& whole, const Tensor& lacking) {
  if (whole.dtype() != lacking.dtype() || whole.shape() != lacking.shape()) return Difference::none;
  const std::size_t size = size_of(whole.dtype());
  const Tensor zeros = Tensor::zeros(whole.dtype(), whole.shape());
  Difference found = Difference::none;
  for (std::size_t at = 0; at < whole.bytes(); at += size) {
    if (std::memcmp(whole.raw() + at, lacking.raw() + at, size) == 0) continue;
    if (std::memcmp(zeros.raw() + at, lacking.raw() + at, size) != 0) return Difference::other;
    found = Difference::zero_where_it_differs;
  }
  return found;
}

}  // namespace

std::optional<Evaluation> evaluate_earlier_call(const Operator& op, const MaterialisedCall& call,
                                                const EvaluationOptions& options) {
  const auto draw = [&](const Tensor& tensor, int number) {
    Philox words(random_key(0, call.name, "stale." + std::to_string(number)));
    return drawn_anew(tensor, words);
  };
  const auto halve = [&](const Tensor& tensor, int) {
    return damage::scaled(tensor, {.kind = SimFault::Kind::scaled, .factor = 0.5}, call.name);
  };
  std::optional<Evaluation> drawn = evaluate_if_possible(op, with_floats(call, draw), options);
  return drawn ? std::move(drawn) : evaluate_if_possible(op, with_floats(call, halve), options);
}

std::optional<Evaluation> evaluate_without_last_index(const Operator& op, const MaterialisedCall& call,
                                                      const EvaluationOptions& options) {
  MaterialisedCall lacking = call;
  bool any = false;
  for (Value& gradient : lacking.gradients) {
    const Tensor* tensor = gradient.get<Tensor>();
    if (tensor == nullptr) continue;
    if (std::optional<Tensor> shorter = without_last_index(*tensor)) {
      gradient = std::move(*shorter);
      any = true;
    }
  }
  return any ? evaluate_if_possible(op, lacking, options) : std::nullopt;
}

std::optional<std::size_t> gradient_that_lacks_a_term(const List& whole, const List& lacking) {
  std::optional<std::size_t> with_zeros;
  for (std::size_t i = 0; i < whole.size() && i < lacking.size(); ++i) {
    const Tensor* a = whole[i].get<Tensor>();
    const Tensor* b = lacking[i].get<Tensor>();
    if (a == nullptr || b == nullptr || !holds_floats(*a)) continue;
    const Difference found = difference(*a, *b);
    if (found == Difference::other) return i;
    if (found == Difference::zero_where_it_differs && !with_zeros) with_zeros = i;
  }
  return with_zeros;
}

}  // namespace msrun
