// Results of calls that are computed a few times and no more, or not even that, because they are too large.
#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "kernels/compare/bounds/common_error.h"
#include "kernels/compare/bounds/constants.h"
#include "kernels/compare/bounds/estimates.h"
#include "kernels/compare/bounds/rounding_terms.h"
#include "kernels/compare/bounds/typical.h"
#include "kernels/tensor/changed_elements.h"
#include "runner/judge/call_part.h"
#include "runner/judge/evidence.h"
#include "runner/judge/judge.h"
#include "runner/judge/narrow_sums.h"
#include "runner/judge/noise.h"
#include "runner/judge/rules.h"

namespace msrun {
namespace {

// What sums give that are rounded to the half type after every addition, of a device that may add so, if the call can
// be computed once more. Nothing where such sums stand still.
std::optional<Tensor> with_narrow_sums(const RowCase& row, const ErrorBudget& budget) {
  const auto& [bench, device] = row.pair;
  if (row.arithmetic.half_rounding != HalfRounding::every_step || budget.longest <= 1) return std::nullopt;
  const RowCase one_more = row.within(CostLimit::one_more);
  for (const std::int64_t lanes : {std::int64_t{1}, lanes_of_vectors}) {
    std::optional<Tensor> narrow = one_more.computed_with(narrow_sums(device.dtype(), lanes));
    if (!narrow) break;
    // Of a device that has the result, sums that stand still tell nothing.
    if (std::abs(common_factor(bench, *narrow)) <= most_lost_by_rounding) return narrow;
  }
  return std::nullopt;
}

// Whether the errors of a half type are no larger than those of a few steps that round to it, of a call that is too
// large for any sample and has such steps, together with what its sums lose if a processor forms them.
bool explained_by_half_steps(const RowCase& row, Explanation& judged) {
  const Tensor& bench = row.pair.bench;
  const Tensor& device = row.pair.device;
  const bool is_one_step = row.arithmetic.half_rounding == HalfRounding::between_kernels && is_one_kernel(row);
  if (!is_half(device.dtype()) || row.arithmetic.half_rounding == HalfRounding::nothing || is_one_step) return false;
  const auto explains = [&](const Tensor& noise) {
    ErrorBudget budget = judged.budget;
    budget.nearest = false;
    budget.noise = noise;
    if (!errs_like(bench, device, budget.noise, times_of_noise)) return false;
    RoundingFit fit = fit_rounding(bench, device, budget);
    if (!is_acceptable(fit, judged.count)) return false;
    judged.budget = std::move(budget);
    judged.fit = std::move(fit);
    judged.in_half = "intermediate results";
    return true;
  };
  const Tensor of_steps = noise_of_unmeasured_steps(bench, device.dtype());
  if (explains(of_steps)) return true;
  // The inputs of the call are the sample, whose elements stand for each other.
  const std::optional<Tensor> narrow = with_narrow_sums(row, judged.budget);
  if (!narrow || has_factor_in_common(row, judged, narrow)) return false;
  NoiseEstimate of_sums(bench.shape());
  of_sums.add(bench, *narrow);
  return explains(combined_noise(of_steps, steadied(of_sums.noise()), 1, 1));
}

// Judges sums by the terms behind each element, as few samples show them, if the call is not too large for these.
// False if nothing could be measured.
bool measure_few_times(const RowCase& row, Explanation& judged) {
  if (!row.call.variations.is_within(CostLimit::few) || judged.budget.longest <= 1) return false;
  measure_terms(row.within(CostLimit::few), samples_of_large_calls, judged);
  return judged.budget.spread.defined();
}

// Judges what that leaves open by the noise of few samples, if the call is not too large for these. True if that
// explains the row.
bool judge_few_times(const RowCase& row, Explanation& judged) {
  if (!row.call.variations.is_within(CostLimit::few)) return explained_by_half_steps(row, judged);
  const RowCase few = row.within(CostLimit::few);
  if (measure_noise(few, samples_of_large_calls, true, judged)) return true;
  const auto by_steps = [&] { return rounds_as_the_device(few, samples_of_large_calls, judged); };
  if (by_steps()) return true;
  const bool may_be_missed =
      judged.fit.beyond * few_of_elements <= judged.count && judged.fit.max_share <= missed_at_most;
  if (!may_be_missed || !row.call.variations.has_room_for_samples()) return false;
  return measure_noise(few, most_noise_samples, true, judged) || by_steps();
}

// rounds_operands() for a call that is too large for its terms to be measured. It is computed so once, or, if it is
// too large for that as well, held to what the roundoff of an operand makes of a typical element.
bool rounds_operands_of_large(const RowCase& row, Explanation& judged) {
  if (row.operands == OperandRounding::none || row.call.op.traits().multiply_adds == nullptr) return false;
  const auto& [bench, device] = row.pair;
  if (row.call.variations.is_within(CostLimit::few)) {
    const RowCase few = row.within(CostLimit::few);
    const std::optional<Tensor> rounded =
        few.computed_with({.summation = {}, .operands = {row.operands, row.operands}});
    return rounded && errs_like_operands(few, *rounded, times_of_operands(row)) && explained_by_operands(row, judged);
  }
  // Cut operands make every term smaller by as much as one roundoff, and less than half as much apart from another.
  const double roundoff = roundoff_of_operand(row.operands);
  const double typical = median(finite_magnitudes(rounding::sampled(bench.contiguous())));
  const Tensor noise = changed_elements(bench.to(DType::float64), [&](double value, std::int64_t) {
    return std::isfinite(value) ? roundoff * (std::abs(value) + typical) / 2 : 0;
  });
  const Interval sound{.least = (row.operands == OperandRounding::truncated_tf32 ? -1 : -2) * roundoff, .most = 0};
  return errs_like(bench, device, noise, times_of_operands(row)) &&
         sound.holds(common_factor(bench, device), share_of_roundoff * roundoff) && explained_by_operands(row, judged);
}

// Judges a result of a call that is too large to be computed again: by a part of it (call_part.h), or where there is
// none, a pass by a multiple of the bound.
void judge_large(const RowCase& row, Explanation& judged) {
  const Tensor& bench = row.pair.bench;
  const Tensor& device = row.pair.device;
  judged.fit = fit_rounding(bench, device, judged.budget);
  if (judged.is_explained()) return;
  const auto with_slack = [&] {
    ErrorBudget budget = judged.budget;
    budget.slack = slack_of_large_calls;
    budget.nearest = false;
    return std::pair(budget, fit_rounding(bench, device, budget));
  };
  const auto part =
      part_of_call({row.call.op, row.call.materialised, row.call.benchmark_options, row.call.variations.elements(),
                    row.call.variations.additions(), device},
                   bench, judged.fit, [&](const Evaluation& evaluation) { return row.of_any_shape(evaluation); });
  if (!part) {
    if (rounds_operands_of_large(row, judged)) return;
    if (measure_few_times(row, judged)) return;
    if (row.passes) std::tie(judged.budget, judged.fit) = with_slack();
    return;
  }
  CallCase call_of_part(row.call.op, part->call, part->bench, row.call.benchmark_options, row.arithmetic);
  RowCase looked_at = row.with(call_of_part, part->of(bench), part->of(device));
  Explanation of_part = explained(looked_at);
  of_part.part = looked_at.pair.bench;
  if (of_part.is_explained()) {
    judged = std::move(of_part);
    return;
  }
  // Elements that no part has may be sound, unless they are far off.
  auto [budget, fit] = with_slack();
  if (!fit.explained()) std::tie(judged.budget, judged.fit) = std::pair(std::move(budget), std::move(fit));
}

}  // namespace

namespace rule {

Answer sides_in_large_calls(RowCase& row, Explanation& known) {
  return explained_if(take_sides_of_steps(row, known) && known.is_explained());
}

Answer part_of_large_call(RowCase& row, Explanation& known) {
  Explanation few_times = known;
  judge_large(row, known);
  const bool by_slack = known.budget.slack > 1;
  if (known.is_explained() && !by_slack) return Answer::explained;
  if (!by_slack && !known.part.defined()) few_times.budget = known.budget;
  if (adds_in_series(row, few_times)) {
    known = std::move(few_times);
    return Answer::explained;
  }
  const bool is_open = !judge_few_times(row, few_times);
  // What is granted for want of anything measured is worth nothing beside noise. Of two that leave it open, the one
  // that knows of noise tells better which elements are wrong.
  const bool takes_few_times =
      (by_slack && few_times.budget.noise.defined()) || !is_open || few_times.fit.beyond < known.fit.beyond;
  if (takes_few_times) known = std::move(few_times);
  return Answer::ended;
}

}  // namespace rule
}  // namespace msrun
