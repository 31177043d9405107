// Devices that store what a call computes on the way, and go on with what is left of it.
#include <optional>
#include <utility>
#include <vector>

#include "kernels/compare/bounds/constants.h"
#include "kernels/compare/bounds/estimates.h"
#include "runner/judge/evidence.h"
#include "runner/judge/noise.h"
#include "runner/judge/rules.h"

namespace msrun {
std::vector<Tensor> with_stored_steps(const RowCase& row) {
  std::vector<Tensor> results;
  const std::optional<Tensor> plain = row.computed_with({});
  if (!plain) return results;
  for (const Evaluation& evaluation : row.call.variations.with_stored_steps(row.limit)) {
    std::optional<Tensor> stored = row.of(evaluation);
    if (stored && !bitwise_equal(*stored, *plain)) results.push_back(std::move(*stored));
  }
  return results;
}

namespace rule {

Answer stored_intermediates(RowCase& row, Explanation& judged) {
  const auto& [bench, device] = row.pair;
  const std::optional<Tensor> sound = row.computed_with({});
  if (!sound) return Answer::open;
  const RoundingFit of_sound = fit_rounding(bench, *sound, judged.budget);
  if (is_acceptable(of_sound, bench.numel())) return Answer::open;
  ErrorBudget budget = judged.budget;
  budget.with_stored = *sound;
  RoundingFit fit = fit_rounding(bench, device, budget, FitUntil::first_beyond);
  // Results that are rounded on the way differ by a place the more often; those of the device not oftener.
  if (!fit.explained() || judged.fit.misrounded > 2 * of_sound.misrounded + tolerated_misrounded(bench.numel()))
    return Answer::open;
  fit.misrounded = 0;
  judged.budget = std::move(budget);
  judged.fit = std::move(fit);
  judged.stored = true;
  return Answer::explained;
}

Answer stored_steps(RowCase& row, Explanation& judged) {
  std::optional<DType> half;
  for_each_argument(row.call.materialised, [&](const Tensor& tensor) {
    if (is_half(tensor.dtype())) half = tensor.dtype();
  });
  if (row.arithmetic.half_rounding == HalfRounding::nothing || !half) return Answer::open;
  ErrorBudget budget = judged.budget;
  budget.nearest = false;
  for (const Tensor& stored : with_stored_steps(row)) {
    RoundingFit fit = fit_rounding(stored, row.pair.device, budget, FitUntil::first_beyond);
    if (!fit.explained()) continue;
    judged.budget = std::move(budget);
    judged.fit = std::move(fit);
    judged.stored = true;
    judged.stored_as = half;
    return Answer::explained;
  }
  return Answer::open;
}

Answer stored_parts(RowCase& row, Explanation& judged) {
  const auto& [bench, device] = row.pair;
  const OperatorTraits& traits = row.call.op.traits();
  const bool is_product =
      traits.rounds_once && traits.multiply_adds != nullptr && traits.operand_setting == OperandSetting::products;
  if (!is_product || !row.arithmetic.stored_parts.of(device.dtype()) || !judged.budget.spread.defined())
    return Answer::open;
  if (errs_as_no_cpu_does(row, judged)) return Answer::open;
  ErrorBudget budget = judged.budget;
  budget.nearest = false;
  budget.noise = noise_of_parts(bench, budget.spread, device.dtype());
  if (!errs_like(bench, device, budget.noise, times_of_parts)) return Answer::open;
  RoundingFit fit = fit_rounding(bench, device, budget);
  if (!is_acceptable(fit, judged.count) || has_common_error(bench, budget, {}, row, first_noise_samples))
    return Answer::open;
  judged.budget = std::move(budget);
  judged.fit = std::move(fit);
  judged.in_half = "partial sums";
  return Answer::explained;
}

}  // namespace rule
}  // namespace msrun
