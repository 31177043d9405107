#include "runner/check/variations.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/base/error.h"
#include "kernels/compare/rounding.h"
#include "kernels/tensor/random.h"

namespace msrun {
namespace {

// Additions behind results, and elements of tensors, up to which a call is computed again.
constexpr double most_additions = 3e8;
constexpr double most_elements = 4e6;

// 0, 1, -1, 2 and -2 may be flags, of which a little more or less is another thing altogether; where they are numbers,
// sums of them are exact.
bool may_be_flag(double value) { return std::abs(value) <= 2 && value == std::trunc(value); }

// Random bits, one for each element of a tensor.
class Signs {
 public:
  explicit Signs(RandomWords& words) : words_(words) {}
  bool next() {
    const std::size_t at = used_++ % 2048;
    if (at == 0) words_.fill(bits_);
    return (bits_[at / 32] >> (at % 32) & 1U) != 0;
  }

 private:
  RandomWords& words_;
  std::size_t used_ = 0;
  std::array<std::uint32_t, 64> bits_{};
};

// A floating tensor with every element changed by change(element).
template <class Change>
Tensor changed(const Tensor& tensor, const Change& change) {
  Tensor wide = tensor.to(DType::float64).clone();
  double* values = wide.mutable_data<double>();
  for (std::int64_t i = 0; i < wide.numel(); ++i) values[i] = change(values[i]);
  return wide.to(tensor.dtype());
}

// Every element times 1 + change or 1 - change, by the words, or the other way round.
Tensor change_signs(const Tensor& tensor, RandomWords& words, bool opposite) {
  const double change = Variations::input_change(tensor.dtype());
  Signs signs(words);
  return changed(tensor, [&](double value) {
    const bool up = signs.next();
    return may_be_flag(value) ? value : value * (up != opposite ? 1 + change : 1 - change);
  });
}

// Every element some places up or down. Narrow dtypes have few numbers, so that one place is a large change.
Tensor change_places(const Tensor& tensor, RandomWords& words) {
  const DType dtype = tensor.dtype();
  const double places = is_half(dtype) || is_float8(dtype) ? 1 : 16;
  Signs signs(words);
  return changed(tensor, [&](double value) {
    const bool up = signs.next();
    if (may_be_flag(value) || !std::isfinite(value)) return value;
    return value + (up ? places : -places) * unit_in_last_place(dtype, value);
  });
}

MaterialisedCall with_changed_inputs(const MaterialisedCall& call, RandomWords& words) {
  const auto change = [&](const Value& leaf) -> Value {
    const Tensor* tensor = leaf.get<Tensor>();
    return tensor != nullptr && is_floating(tensor->dtype()) ? Value(change_places(*tensor, words)) : leaf;
  };
  MaterialisedCall other = call;
  for (Value& arg : other.args) arg = transform_leaves(arg, change);
  for (auto& [key, value] : other.kwargs) value = transform_leaves(value, change);
  for (Value& gradient : other.gradients) gradient = transform_leaves(gradient, change);
  return other;
}

// Masks and indices cost nothing beside them.
double floating_elements(const MaterialisedCall& call) {
  double total = 0;
  const auto count = [&](const Value& leaf) {
    const Tensor* tensor = leaf.get<Tensor>();
    if (tensor != nullptr && is_floating(tensor->dtype())) total += static_cast<double>(tensor->numel());
  };
  for (const Value& arg : call.args) for_each_leaf(arg, count);
  for (const auto& [key, value] : call.kwargs) for_each_leaf(value, count);
  for (const Value& gradient : call.gradients) for_each_leaf(gradient, count);
  return total;
}

}  // namespace

Variations::Variations(const Operator& op, const MaterialisedCall& call, const Evaluation& bench,
                       const EvaluationOptions& benchmark_options)
    : op_(op), call_(call), bench_(bench), benchmark_options_(benchmark_options), elements_(floating_elements(call)) {}

double Variations::input_change(DType raised) { return raised == DType::float64 ? 0x1p-20 : 0x1p-10; }

bool Variations::is_small() const {
  const double additions = std::max(bench_.output_sums.additions, bench_.gradient_sums.additions);
  return additions <= most_additions && elements_ <= most_elements;
}

const std::vector<Evaluation>& Variations::changed_benchmarks(std::size_t samples) {
  if (!is_small() || unchangeable_) return changed_;
  try {
    while (changed_.size() < samples) {
      // Two and two samples have the same random signs, but those of every second argument, or every second pair of
      // arguments, turned: terms of two arguments that cancel cannot change alike in both.
      const std::size_t sample = changed_.size();
      Philox words(random_key(0, call_.name, "spread." + std::to_string(sample / 2)));
      std::size_t argument = 0;
      EvaluationOptions options = benchmark_options_;
      options.change_input = [&](const Tensor& tensor) {
        const bool turned = sample % 2 == 1 && (argument >> (sample / 2 % 2) & 1U) != 0;
        ++argument;
        return change_signs(tensor, words, turned);
      };
      changed_.push_back(evaluate(op_, call_, options));
    }
  } catch (const SkipError&) {
    // The changed inputs are outside of what the operator takes.
    unchangeable_ = true;
    changed_.clear();
  }
  return changed_;
}

const Evaluation* Variations::with(const Arithmetic& arithmetic) {
  if (!is_small()) return nullptr;
  auto known = std::ranges::find(variants_, arithmetic, [](const auto& variant) { return variant.first; });
  if (known == variants_.end()) {
    EvaluationOptions options;
    options.only_output = benchmark_options_.only_output;
    options.adjust_gradients = benchmark_options_.adjust_gradients;
    options.arithmetic = arithmetic;
    known = variants_.insert(known, {arithmetic, std::nullopt});
    try {
      known->second = evaluate(op_, call_, options);
    } catch (const SkipError&) {
      // There is no such variant.
    }
  }
  return known->second ? &*known->second : nullptr;
}

const std::vector<Variations::Nearby>& Variations::nearby(std::size_t samples) {
  if (!is_small() || unchangeable_) return nearby_;
  try {
    while (nearby_.size() < samples) {
      Philox words(random_key(0, call_.name, "nearby." + std::to_string(nearby_.size())));
      const MaterialisedCall call = with_changed_inputs(call_, words);
      EvaluationOptions options;
      options.only_output = benchmark_options_.only_output;
      options.adjust_gradients = benchmark_options_.adjust_gradients;
      Evaluation sound = evaluate(op_, call, options);
      options.benchmark = true;
      nearby_.push_back({evaluate(op_, call, options), std::move(sound)});
    }
  } catch (const SkipError&) {
    unchangeable_ = true;
    nearby_.clear();
  }
  return nearby_;
}

}  // namespace msrun
