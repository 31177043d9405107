// Results of half types that a device rounds on the way: between its kernels, or after every step.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/compare/bounds/common_error.h"
#include "kernels/compare/bounds/constants.h"
#include "kernels/compare/bounds/error_shape.h"
#include "kernels/compare/bounds/estimates.h"
#include "kernels/tensor/changed_elements.h"
#include "runner/judge/evidence.h"
#include "runner/judge/narrow_sums.h"
#include "runner/judge/noise.h"
#include "runner/judge/rules.h"

namespace msrun {
namespace {

// The numbers from exact to narrow that lie next to the device's; exact ones where a narrow one is not finite.
Tensor nearest_between(const Tensor& exact, const Tensor& narrow, const Tensor& device) {
  const Tensor ends = narrow.to(DType::float64).contiguous();
  const Tensor values = device.to(DType::float64).contiguous();
  return changed_elements(exact.to(DType::float64), [&](double value, std::int64_t i) {
    const double end = ends.data<double>()[i];
    if (!std::isfinite(end) || !std::isfinite(value) || std::isnan(values.data<double>()[i])) return value;
    return std::clamp(values.data<double>()[i], std::min(value, end), std::max(value, end));
  });
}

// Whether the device says that it rounds nothing to the row's dtype on the way, or errs as none does that rounds.
bool never_rounds_on_the_way(const RowCase& row, const Explanation& judged) {
  const DType dtype = row.pair.device.dtype();
  return row.arithmetic.half_rounding == HalfRounding::nothing || !is_half(dtype) || errs_as_no_cpu_does(row, judged);
}

// Whether a gradient of so many elements has fewer than one of the results.
bool sums_over(const RowCase& row, std::int64_t elements) {
  return std::ranges::any_of(row.call.materialised.gradients, [elements](const Value& gradient) {
    const auto* tensor = gradient.get<Tensor>();
    return tensor != nullptr && tensor->numel() > elements;
  });
}

// The noise of steps, measured as the first of the roundings has it, with that of what they are formed in and of the
// ends of its range, which are added to the roundings.
Tensor noise_around_steps(Tensor of_steps, const RowCase& row, std::size_t samples, Tensor& lost,
                          std::vector<Rounding>& roundings) {
  // What they are formed in is float32, of which a place shows where steps cancel to nothing.
  const Variations::Perturbation in_float32{.rough = true, .in_float32 = true};
  const Tensor of_float32 = nearby_noise(in_float32, row, samples, lost);
  of_steps = combined_noise(of_steps, of_float32, roundings.front().times, times_of_float32);
  roundings.push_back({in_float32, times_of_float32});
  if (row.pair.device.dtype() != DType::float16) return of_steps;
  // Steps that leave the range of float16, at either end, do not leave that of float32.
  const Variations::Perturbation composed{.rough = true, .composed = true};
  roundings.push_back({composed, 1});
  return larger_noise(of_steps, nearby_noise(composed, row, samples, lost));
}

// Whether sums that are rounded to the half type after every addition lose a share of the result, for inputs beside
// those of the call, that is no rounding: they stand still. They are formed in so many partial sums side by side.
bool sums_stand_still(const RowCase& row, std::size_t samples, std::int64_t lanes) {
  double sum = 0;
  double count = 0;
  const Variations::Perturbation narrow{.arithmetic = narrow_sums(row.pair.device.dtype(), lanes)};
  for (const Variations::Nearby& one : row.call.variations.nearby(narrow, samples, row.limit)) {
    const std::optional<Tensor> exact = row.of(one.bench);
    const std::optional<Tensor> rounded = row.of(one.rounded);
    if (!exact || !rounded) continue;
    sum += common_factor(*exact, *rounded);
    ++count;
  }
  return std::abs(sum) > most_lost_by_rounding * count;
}

// Whether errors lie in one piece of the result, or further on one side than `expected` says of such arithmetic, as
// its errors do not. noise is what it errs by.
bool errs_in_one_place(const RowCase& row, const Tensor& bench, const Tensor& device, const Tensor& noise,
                       const CommonErrors& expected) {
  if (row.call.takes_positions || !has_many_values(bench)) return false;
  const ErrorShape shape = shape_of_errors(bench, device, noise);
  if (shape.concentration > most_concentration) return true;
  // To the side to which such arithmetic leads its results, they may lie. Samples show it of operators that are one
  // sum; of others kernels have steps that samples have not.
  if (!row.call.op.traits().rounds_once) return false;
  const double factor = common_factor(bench, device);
  const double allowed = roundings_in_common * epsilon(device.dtype()) / 2;
  const bool has_factor =
      factor < times_of_leaning * expected.least - allowed || factor > times_of_leaning * expected.most + allowed;
  return has_factor && shape.lean > 1;
}

// Whether arithmetic that rounds sums, or the result of every step, to the half type of the result errs as much as
// the device does, which says that it computes so: as the kernels of processors, and operators that are composed of
// others. Sums are formed in so many partial sums side by side.
bool rounds_on_the_way(const RowCase& row, std::size_t samples, std::int64_t lanes, Explanation& judged) {
  const Tensor& bench = row.pair.bench;
  const Tensor& device = row.pair.device;
  const DType dtype = device.dtype();
  // Errors are in proportion to the unit roundoff, and those of float32 can be computed.
  const double in_proportion = epsilon(dtype) / epsilon(DType::float32);
  const bool between_kernels = row.arithmetic.half_rounding == HalfRounding::between_kernels;
  const bool one_kernel = between_kernels && is_one_kernel(row);
  // Of those that round once it depends on the call whether products are among its steps.
  if (one_kernel && !row.call.op.traits().rounds_once) return false;
  const bool known = row.call.op.traits().adds_in_half(row.of_gradients);
  // Where sums of a half type stand still, a device that gives the result at all has added in float32.
  const bool adds_wide = between_kernels || (!known && sums_stand_still(row, samples, lanes));
  Variations::Perturbation by_steps{.rough = true, .in_float32 = true, .stored = adds_wide || known};
  if (between_kernels && dtype == DType::float16) by_steps.smallest = 0x1p-24 / in_proportion;
  // Of the steps alone: another explanation is not to excuse what only they lose.
  Tensor lost = judged.budget.lost.defined() ? judged.budget.lost.clone() : Tensor();
  Tensor of_steps = nearby_noise(by_steps, row, samples, lost);
  const bool wide_sums =
      between_kernels && of_steps.defined() && row.call.variations.nearby(by_steps, 1, row.limit).front().has_products;
  if (one_kernel && !wide_sums) return false;
  const bool adds_in_half = between_kernels && known;
  ErrorBudget budget = judged.budget;
  budget.nearest =
      wide_sums && row.call.rounds_once && !row.call.variations.nearby(by_steps, 1, row.limit).front().adds_products;
  // A step that overflows is one of those. Sums in bfloat16 do not, and how much they may lose term by term is known.
  std::optional<Tensor> sound = row.computed_with({});
  const bool may_overflow = !known || dtype == DType::float16;
  if (sound && may_overflow && !is_acceptable(fit_rounding(bench, *sound, budget), bench.numel()))
    budget.with_stored = std::move(*sound);
  const auto explains = [&](const Tensor& numbers, const Tensor& noise, const char* what,
                            const std::vector<Rounding>& roundings) {
    if (!noise.defined()) return false;
    budget.lost = lost;
    budget.noise = noise_of_many(noise, numbers, dtype);
    RoundingFit fit = fit_rounding(numbers, device, budget);
    if (&numbers == &bench && fit.beyond > 0) judged.without_steps.emplace(budget, fit);
    if (!errs_like(numbers, device, noise, times_of_noise)) return false;
    if ((wide_sums || adds_in_half) && !row.call.rounds_once && fit.beyond > 0 &&
        fit.beyond <= most_outliers(judged.count)) {
      budget.noise = noise_of_outliers(noise, numbers, dtype);
      fit = fit_rounding(numbers, device, budget);
    }
    if (!is_acceptable(fit, judged.count) || has_common_error(numbers, budget, roundings, row, samples) ||
        (!between_kernels && !known &&
         errs_in_one_place(row, numbers, device, noise, common_errors(roundings, row, samples))))
      return false;
    judged.budget = budget;
    judged.fit = fit;
    judged.in_half = what;
    return true;
  };
  std::vector<Rounding> roundings{{by_steps, in_proportion}};
  of_steps = noise_around_steps(std::move(of_steps), row, samples, lost, roundings);
  if (adds_wide && explains(bench, of_steps, "intermediate results", roundings)) return true;
  // Scores that were stored are others than those of the benchmark; what follows from them errs as it does there.
  if (wide_sums && !row.call.rounds_once) {
    for (const Tensor& stored : with_stored_steps(row)) {
      if (explains(stored, of_steps, "intermediate results", roundings)) return true;
    }
  }
  if (wide_sums || (adds_wide && !adds_in_half)) return false;
  const Variations::Perturbation narrow{.arithmetic = narrow_sums(dtype, lanes)};
  Tensor of_sums = nearby_noise(narrow, row, samples, lost);
  if (!of_sums.defined()) return false;
  // Devices that are known to add up so may lose whatever such sums do; of others it is a fault.
  const std::optional<Tensor> one_by_one = known ? row.computed_with(narrow.arithmetic) : std::nullopt;
  const Tensor exact = one_by_one ? nearest_between(bench, *one_by_one, device) : bench;
  // A gradient of fewer elements than a result has is a sum of what these give, as that of a bias.
  const bool sums_alone = known || budget.adds_terms || (row.of_gradients && sums_over(row, bench.numel()));
  const Tensor most = most_of_narrow_sums(exact, budget, sums_alone, dtype);
  Rounding of_additions{.how = narrow};
  if (budget.longest > 1) of_sums = in_any_order(std::move(of_sums), budget.spread, dtype);
  of_sums = smaller_noise(of_sums, most);
  if (budget.longest > 1 && explains(exact, of_sums, "partial sums", {of_additions})) return true;
  roundings.push_back(of_additions);
  return explains(exact, combined_noise(of_sums, of_steps, 1, 1), "intermediate results", roundings);
}

}  // namespace

bool is_one_kernel(const RowCase& row) {
  if (row.call.op.traits().rounds_once) return true;
  if (!row.call.op.traits().one_kernel || row.of_gradients) return false;
  // Arguments of another dtype are cast by a kernel before it.
  bool casts = row.pair.device.dtype() != DType::bfloat16;
  for_each_argument(row.call.materialised, [&](const Tensor& tensor) {
    casts = casts || (is_floating(tensor.dtype()) && tensor.dtype() != DType::bfloat16);
  });
  return !casts;
}

bool rounds_as_the_device(const RowCase& row, std::size_t samples, Explanation& judged) {
  if (never_rounds_on_the_way(row, judged)) return false;
  if (rounds_on_the_way(row, samples, 1, judged)) return true;
  if (row.arithmetic.half_rounding != HalfRounding::every_step) return false;
  // Where sums stand still that are added one by one, those of vectors go on.
  if (sums_stand_still(row, samples, 1) && !sums_stand_still(row, samples, lanes_of_vectors) &&
      rounds_on_the_way(row, samples, lanes_of_vectors, judged))
    return true;
  RowCase between = row;
  between.arithmetic.half_rounding = HalfRounding::between_kernels;
  return rounds_on_the_way(between, samples, 1, judged);
}

namespace rule {

// What explains most results of half types, before more samples of anything else are computed, which cost more; what
// these explain without steps is known better, where they cost nothing.
Answer half_steps_early(RowCase& row, Explanation& known) {
  return row.call.variations.is_cheap() ? Answer::open : half_steps(row, known);
}

Answer half_steps(RowCase& row, Explanation& known) {
  return explained_if(rounds_as_the_device(row, first_noise_samples, known));
}

Answer half_steps_by_more_samples(RowCase& row, Explanation& known) {
  return explained_if(rounds_as_the_device(row, most_noise_samples, known));
}

}  // namespace rule
}  // namespace msrun
