// Results of calls that are computed a few times and no more, or not even that, because they are too large.
#include <utility>

#include "kernels/compare/estimates.h"
#include "runner/check/explain.h"
#include "runner/check/noise.h"

namespace msrun {
namespace {

constexpr std::size_t samples_of_large_calls = 2;
// The noise of a few among many elements may be so much smaller, by chance, in all of these samples.
constexpr double missed_at_most = 16;

}  // namespace

bool Explainer::grant_half_steps(const Comparison& comparison, std::size_t row, Judged& judged) const {
  const auto& [bench, device] = comparison.pairs[row];
  const bool is_one_step = arithmetic_.half_rounding == HalfRounding::between_kernels && is_one_kernel(comparison, row);
  if (!is_half(device.dtype()) || arithmetic_.half_rounding == HalfRounding::nothing || is_one_step) return false;
  SumModel model = judged.model;
  model.nearest = false;
  model.noise = noise_of_unmeasured_steps(bench, device.dtype());
  if (!errs_like(bench, device, model.noise, times_of_noise)) return false;
  RoundingFit fit = fit_rounding(bench, device, model);
  if (!is_acceptable(fit, judged.count)) return false;
  judged.model = std::move(model);
  judged.fit = std::move(fit);
  judged.in_half = "intermediate results";
  return true;
}

bool Explainer::measure_few_times(const Comparison& comparison, std::size_t row, const Select& select, Judged& judged) {
  const Variations::FewTimes few(variations_);
  if (!few.allows() || judged.model.longest <= 1) return false;
  measure(comparison, row, select, samples_of_large_calls, judged);
  return judged.model.spread.defined();
}

bool Explainer::judge_few_times(const Comparison& comparison, std::size_t row, const Select& select, Judged& judged) {
  const Variations::FewTimes few(variations_);
  if (!few.allows()) return grant_half_steps(comparison, row, judged);
  if (measure_noise(comparison, row, select, samples_of_large_calls, true, judged)) return true;
  const auto by_steps = [&] { return rounds_as_the_device(comparison, row, select, samples_of_large_calls, judged); };
  if (by_steps()) return true;
  const bool may_be_missed =
      judged.fit.beyond * few_of_elements <= judged.count && judged.fit.max_share <= missed_at_most;
  if (!may_be_missed || !variations_.has_room_for_samples()) return false;
  return measure_noise(comparison, row, select, most_noise_samples, true, judged) || by_steps();
}

}  // namespace msrun
