// Products whose float32 operands a device rounds, as its settings let it.
#include <utility>

#include "kernels/compare/bounds/common_error.h"
#include "kernels/compare/bounds/constants.h"
#include "kernels/compare/bounds/estimates.h"
#include "runner/judge/evidence.h"
#include "runner/judge/rules.h"

namespace msrun {
double times_of_operands(const RowCase& row) {
  return row.operands == OperandRounding::truncated_tf32 ? times_of_cut_operands : times_of_rounded_operands;
}

bool explained_by_operands(const RowCase& row, Explanation& judged) {
  if (row.operands == OperandRounding::none) return false;
  ErrorBudget budget = judged.budget;
  budget.nearest = false;
  budget.of_operands = slack_of_operands * roundoff_of_operand(row.operands);
  const auto& [bench, device] = row.pair;
  RoundingFit fit = fit_rounding(bench, device, budget, FitUntil::first_beyond);
  if (!fit.explained()) return false;
  judged.budget = std::move(budget);
  judged.fit = std::move(fit);
  judged.operands = row.operands;
  return true;
}

bool errs_like_operands(const RowCase& row, const Tensor& rounded, double times) {
  const auto& [bench, device] = row.pair;
  NoiseEstimate of_operands(bench.shape());
  of_operands.add(bench, rounded);
  if (!errs_like(bench, device, of_operands.noise(), times)) return false;
  // What is cut is too small, of what is rounded no more than of the exact operands.
  const double roundoff = roundoff_of_operand(row.operands);
  Interval sound;
  sound.reach(common_factor(bench, rounded));
  if (row.operands != OperandRounding::truncated_tf32) sound.reach(-2 * roundoff);
  const double factor = common_factor(bench, device);
  const double slack = share_of_roundoff * roundoff;
  if (sound.holds(factor, slack)) return true;
  const auto nearest = row.operands == OperandRounding::truncated_tf32 ? OperandRounding::tf32 : row.operands;
  const std::optional<Tensor> to_nearest = row.computed_with({.summation = {}, .operands = {nearest, nearest}});
  if (to_nearest) sound.reach(common_factor(bench, *to_nearest));
  return sound.holds(factor, slack);
}

namespace rule {

Answer rounded_operands(RowCase& row, Explanation& known) {
  if (row.operands == OperandRounding::none || !known.budget.spread.defined()) return Answer::open;
  const std::optional<Tensor> rounded = row.computed_with({.summation = {}, .operands = {row.operands, row.operands}});
  if (!rounded || !errs_like_operands(row, *rounded, times_of_operands(row))) return Answer::open;
  return explained_if(explained_by_operands(row, known));
}

}  // namespace rule
}  // namespace msrun
