// Results of which rounding explains less than of others: those that nothing rounds, and values that are not finite,
// which are in most places the only ones that there can be.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/compare/bounds/constants.h"
#include "kernels/compare/bounds/estimates.h"
#include "kernels/compare/bounds/rounding_screens.h"
#include "kernels/tensor/changed_elements.h"
#include "runner/judge/evidence.h"
#include "runner/judge/rules.h"

namespace msrun {
namespace {

// The elements of a tensor, row-major, as float64.
class Elements {
 public:
  explicit Elements(const Tensor& tensor) : kept_(tensor.to(DType::float64).contiguous()) {}

  const double* begin() const { return kept_.data<double>(); }
  const double* end() const { return begin() + kept_.numel(); }
  std::size_t size() const { return static_cast<std::size_t>(kept_.numel()); }
  double operator[](std::size_t i) const { return begin()[i]; }

 private:
  Tensor kept_;
};

bool is_finite(const Tensor& tensor) {
  bool all = true;
  for (const double value : Elements(tensor)) all = all & std::isfinite(value);
  return all;
}

double largest_magnitude(const Tensor& tensor) {
  double largest = 0;
  for (const double value : Elements(tensor)) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

// The largest finite magnitude among the inputs of a call.
double largest_input(const MaterialisedCall& call) {
  double largest = 0;
  for_each_input(call, [&](const Tensor& tensor) {
    if (is_floating(tensor.dtype())) largest = std::max(largest, largest_magnitude(tensor));
  });
  return largest;
}

// What sums may come to in another order, where one of them is not finite in some order: partial sums may exceed the
// range at either end, and NaN is left where they meet the other one. An infinite term stays, or meets it.
int marks_of_sums(double exact) {
  if (std::isnan(exact)) return 0;
  return std::isinf(exact) ? not_finite_mark(exact) | not_finite_mark(std::nan("")) : all_not_finite;
}

// Elements that are far further away than inputs which were changed by a relative amount lead in proportion.
void mark_jumps(const Tensor& from, const Tensor& changed, double change, std::vector<bool>& jumps) {
  const Elements a(from);
  const Elements b(changed);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double size = std::max(std::abs(a[i]), std::abs(b[i]));
    if (std::abs(a[i] - b[i]) > most_in_proportion * change * size) jumps[i] = true;
  }
}

// Whether the call only moves, drops or exactly computes the row's elements: for inputs of all digits as well, sound
// arithmetic gives what higher precision gives, however rough its functions are.
bool rounds_nowhere(const RowCase& row) {
  const auto& [bench, device] = row.pair;
  const Steps steps = steps_of(row);
  if (row.call.complex_arguments || (steps != Steps::none && steps != Steps::at_a_kink)) return false;
  // The benchmark of float64 is computed in it, and without tensors there is nothing to be changed.
  if (device.dtype() == DType::float64 || row.call.variations.elements() == 0) return false;
  if (!surely_equal(bench, bench.to(device.dtype()))) return false;
  // Numbers of a half type have so few digits that products of them may be exact, and the benchmark of float64 is
  // computed in it.
  const Variations::Perturbation roughly{.rough = true, .in_float32 = device.dtype() != DType::float32};
  const auto is_exact = [&](const Variations::Nearby& one) {
    const std::optional<Tensor> exact = row.of(one.bench);
    const std::optional<Tensor> rounded = row.of(one.rounded);
    return exact && rounded && surely_equal(*exact, *rounded);
  };
  const auto are_exact = [&](std::size_t samples) {
    const std::vector<Variations::Nearby>& nearby = row.call.variations.nearby(roughly, samples, row.limit);
    return !nearby.empty() && std::ranges::all_of(nearby, is_exact);
  };
  return are_exact(first_noise_samples) && (bench.numel() >= few_unrounded || are_exact(most_noise_samples));
}

// Whether the floating upstream gradients, or arguments, are all of that dtype.
bool has_terms_of(const RowCase& row, DType dtype, bool of_gradients) {
  bool all = true;
  const auto look = [&](const Tensor& tensor) {
    all = all && (!is_floating(tensor.dtype()) || tensor.dtype() == dtype);
  };
  if (!of_gradients) {
    for_each_argument(row.call.materialised, look);
    return all;
  }
  for (const Value& gradient : row.call.materialised.gradients) {
    if (const auto* tensor = gradient.get<Tensor>()) look(*tensor);
  }
  return all;
}

// Whether samples of the row err by no more than sums in float32 of `by_one` terms, of which the sizes together are
// `by_magnitude`, and not at all where there is one.
// A factor of a formula that comes to 1, as x / |x| does, errs as its steps do, which samples show. A changed input may
// bring a term to another element, so that all of a row have one limit.
bool only_rounds_sums(const RowCase& row, const Tensor& by_one, const Tensor& by_magnitude) {
  const double most_terms = largest_magnitude(by_one);
  const double limit =
      2 * std::max(most_terms - 1, 0.0) * epsilon(DType::float32) / 2 * largest_magnitude(by_magnitude);
  for (const Variations::Nearby& one :
       row.call.variations.nearby({.rough = true, .in_float32 = true}, first_noise_samples, row.limit)) {
    const std::optional<Tensor> exact = row.of(one.bench);
    const std::optional<Tensor> rounded = row.of(one.rounded);
    if (!exact || !rounded) return false;
    const Elements from(*exact);
    const Elements to(*rounded);
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (std::abs(to[i] - from[i]) > limit) return false;
    }
  }
  return true;
}

// What the elements of a half type may err by in a row that holds elements of the upstream gradient, or of the
// arguments, and sums of them (ErrorBudget::most): by nothing where one alone comes to them, and otherwise by the
// roundings of so few additions. Undefined of other rows.
Tensor most_of_few_terms(const RowCase& row) {
  const auto& [bench, device] = row.pair;
  const DType dtype = device.dtype();
  if (!is_half(dtype) || row.call.complex_arguments) return {};
  if (!row.of_gradients && row.call.op.traits().half_sums != HalfSums::results) return {};
  const Variations::Substituted* other = row.call.variations.substituted(row.of_gradients);
  if (other == nullptr) return {};
  const std::optional<Tensor> by_function = row.of(other->by_function);
  const std::optional<Tensor> by_one = row.of(other->by_one);
  const std::optional<Tensor> by_magnitude = row.of(other->by_magnitude);
  if (!by_function || !by_one || !by_magnitude) return {};
  const Elements exact(bench);
  const Elements counts(*by_one);
  bool only_adds = has_terms_of(row, dtype, row.of_gradients);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    // A factor that is as good as 1 is none of a device: where it is one for some elements, others have a part of them.
    if (counts[i] != std::round(counts[i])) return {};
    only_adds = only_adds && (counts[i] > 0 || (counts[i] == 0 && exact[i] == 0));
  }
  const Elements substituted(*by_function);
  const Elements magnitudes(*by_magnitude);
  if (!only_rounds_sums(row, *by_one, *by_magnitude)) return {};
  return changed_elements(bench.to(DType::float64), [&](double value, std::int64_t at) {
    const auto i = static_cast<std::size_t>(at);
    if (std::isfinite(value) && substituted[i] == Variations::substitute(value)) return 0.0;
    if (!only_adds || !std::isfinite(magnitudes[i])) return std::numeric_limits<double>::infinity();
    // Each addition but the last rounds a partial sum, which no order makes larger than the sum of all magnitudes.
    const double of_partial_sums = std::max(counts[i] - 2, 0.0) * epsilon(dtype) / 2 * magnitudes[i];
    return unit_in_last_place(dtype, value) + of_partial_sums;
  });
}

// Judges such a row: gradients at a kink that no argument names may be those of either side, and nothing in between.
void judge_unrounded(RowCase& row, Explanation& judged) {
  auto& [bench, device] = row.pair;
  judged.budget.unrounded = true;
  judged.fit = fit_rounding(bench, device, judged.budget);
  if (judged.is_explained() || !row.of_gradients) return;
  std::vector<bool> jumps(static_cast<std::size_t>(bench.numel()));
  for (const Evaluation& evaluation : row.call.variations.changed_benchmarks(first_samples, row.limit)) {
    const std::optional<Tensor> changed = row.of(evaluation);
    if (changed) mark_jumps(bench, *changed, row.call.variations.change_of(changed->dtype()), jumps);
  }
  if (std::ranges::count(jumps, true) == 0) return;
  const std::optional<StepSides> sides = row.call.variations.sides_of_steps(
      bench, device, [&](const Evaluation& evaluation) { return row.of(evaluation); }, Steps::at_a_kink, false);
  if (!sides) return;
  const Elements nearest(sides->bench);
  std::int64_t exchanged = 0;
  bench = changed_elements(bench.to(DType::float64), [&](double value, std::int64_t i) {
    const double other = jumps[static_cast<std::size_t>(i)] ? nearest[static_cast<std::size_t>(i)] : value;
    exchanged += other != value && !(std::isnan(other) && std::isnan(value)) ? 1 : 0;
    return other;
  });
  judged.on_steps = exchanged;
  judged.fit = fit_rounding(bench, device, judged.budget);
}

}  // namespace

Tensor other_not_finite(const RowCase& row) {
  const auto& [bench, device] = row.pair;
  const DType dtype = device.dtype();
  if (!is_floating(dtype) || is_finite(device)) return {};
  const bool adds = row.sums.longest > 1;
  const bool adds_in_half = dtype == DType::float16 && row.arithmetic.half_rounding != HalfRounding::nothing;
  std::vector<Accumulator> accumulators{Accumulator::wide};
  // Term by term, in the range of float32.
  if (adds) accumulators.push_back(Accumulator::bfloat16);
  if (adds && adds_in_half) accumulators.push_back(Accumulator::float16);
  // Whether sums of the inputs themselves may exceed the range in some order, though here they do not.
  const double end = max_finite(dtype == DType::float64 || adds_in_half ? dtype : DType::float32);
  const bool reaches_end = adds && largest_input(row.call.materialised) * static_cast<double>(row.sums.longest) > end;
  Tensor marks = Tensor::zeros(DType::float64, bench.shape());
  auto* const mark = marks.mutable_data<double>();
  const auto add = [&](std::size_t i, int found) { mark[i] = static_cast<int>(mark[i]) | found; };
  for (const Accumulator accumulator : accumulators) {
    const auto other = row.computed_with({.summation = {.accumulator = accumulator}});
    if (!other) continue;
    const Elements found(*other);
    for (std::size_t i = 0; i < found.size(); ++i) add(i, not_finite_mark(found[i]));
  }
  if (!adds) return marks;
  // Formulas of several steps, such as that of a normalised row, have other forms, in which an infinity meets another.
  const bool is_formula = !row.call.op.traits().rounds_once && row.call.op.traits().half_sums != HalfSums::results;
  const Elements exact(bench);
  const Elements nearest(bench.to(dtype));
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const int own = not_finite_mark(nearest[i]);
    const int found = static_cast<int>(mark[i]);
    const bool differs = (found | own) != own;
    if (differs || (reaches_end && (found | own) != 0)) add(i, marks_of_sums(exact[i]));
    if (is_formula && own != 0) add(i, all_not_finite);
  }
  return marks;
}

namespace rule {

Answer nothing_rounds(RowCase& row, Explanation& known) {
  if (rounds_nowhere(row)) judge_unrounded(row, known);
  return explained_if(known.budget.unrounded && known.is_explained());
}

// Limits what every rule behind it explains.
Answer few_terms(RowCase& row, Explanation& known) {
  known.budget.most = most_of_few_terms(row);
  return Answer::open;
}

}  // namespace rule
}  // namespace msrun
