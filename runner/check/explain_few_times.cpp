// Results of calls that are computed a few times and no more, or not even that, because they are too large.
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "kernels/compare/estimates.h"
#include "runner/check/explain.h"
#include "runner/check/narrow_sums.h"
#include "runner/check/noise.h"

namespace msrun {
namespace {

constexpr std::size_t samples_of_large_calls = 2;
// The noise of a few among many elements may be so much smaller, by chance, in all of these samples.
constexpr double missed_at_most = 16;
// Elements of a call that is computed once more, with the inputs that it has.
constexpr double most_elements_of_one_more = 6.4e7;

}  // namespace

std::optional<Tensor> Explainer::with_narrow_sums(const RowCase& row, const SumModel& model) {
  const auto& [bench, device] = row.pair;
  const Variations::FewTimes few(variations_, most_elements_of_one_more);
  if (arithmetic_.half_rounding != HalfRounding::every_step || !few.allows() || model.longest <= 1) return std::nullopt;
  for (const std::int64_t lanes : {std::int64_t{1}, lanes_of_vectors}) {
    std::optional<Tensor> narrow = computed_with(narrow_sums(device.dtype(), lanes), row);
    if (!narrow) break;
    // Of a device that has the result, sums that stand still tell nothing.
    if (std::abs(common_factor(bench, *narrow)) <= most_lost_by_rounding) return narrow;
  }
  return std::nullopt;
}

bool Explainer::grant_half_steps(const RowCase& row, Judged& judged) {
  const Tensor& bench = row.pair.bench;
  const Tensor& device = row.pair.device;
  const bool is_one_step = arithmetic_.half_rounding == HalfRounding::between_kernels && is_one_kernel(row);
  if (!is_half(device.dtype()) || arithmetic_.half_rounding == HalfRounding::nothing || is_one_step) return false;
  const auto explains = [&](const Tensor& noise) {
    SumModel model = judged.model;
    model.nearest = false;
    model.noise = noise;
    if (!errs_like(bench, device, model.noise, times_of_noise)) return false;
    RoundingFit fit = fit_rounding(bench, device, model);
    if (!is_acceptable(fit, judged.count)) return false;
    judged.model = std::move(model);
    judged.fit = std::move(fit);
    judged.in_half = "intermediate results";
    return true;
  };
  const Tensor of_steps = noise_of_unmeasured_steps(bench, device.dtype());
  if (explains(of_steps)) return true;
  // The inputs of the call are the sample, whose elements stand for each other.
  const std::optional<Tensor> narrow = with_narrow_sums(row, judged.model);
  if (!narrow || has_factor_in_common(row, judged, narrow)) return false;
  NoiseEstimate of_sums(bench.shape());
  of_sums.add(bench, *narrow);
  return explains(combined_noise(of_steps, steadied(of_sums.noise()), 1, 1));
}

bool Explainer::measure_few_times(const RowCase& row, Judged& judged) {
  const Variations::FewTimes few(variations_);
  if (!few.allows() || judged.model.longest <= 1) return false;
  measure(row, samples_of_large_calls, judged);
  return judged.model.spread.defined();
}

bool Explainer::judge_few_times(const RowCase& row, Judged& judged) {
  const Variations::FewTimes few(variations_);
  if (!few.allows()) return grant_half_steps(row, judged);
  if (measure_noise(row, samples_of_large_calls, true, judged)) return true;
  const auto by_steps = [&] { return rounds_as_the_device(row, samples_of_large_calls, judged); };
  if (by_steps()) return true;
  const bool may_be_missed =
      judged.fit.beyond * few_of_elements <= judged.count && judged.fit.max_share <= missed_at_most;
  if (!may_be_missed || !variations_.has_room_for_samples()) return false;
  return measure_noise(row, most_noise_samples, true, judged) || by_steps();
}

}  // namespace msrun
