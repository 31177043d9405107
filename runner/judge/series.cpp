// Long sums whose terms a device adds one after the other, where others add blocks in a tree: their errors grow with
// the number of terms, and where a partial sum is far larger than its terms they have one direction. What such a sum
// gives can be computed, so that no other error of that size has an excuse.
#include <array>
#include <utility>

#include "runner/judge/evidence.h"
#include "runner/judge/rules.h"

namespace msrun {
namespace {

Arithmetic in_series(std::int64_t lanes, bool backwards = false) {
  return {.summation = {.accumulator = Accumulator::float32, .lanes = lanes, .backwards = backwards}};
}

}  // namespace

bool adds_in_series(const RowCase& row, Explanation& judged) {
  const auto& [bench, device] = row.pair;
  if (device.dtype() == DType::float64 || judged.budget.chain >= judged.budget.longest) return false;
  const RowCase one_more = row.within(CostLimit::one_more);
  // Vectors of 256 and 512 bits, and two of these at a time.
  for (const Arithmetic& arithmetic : {in_series(1), in_series(1, true), in_series(8), in_series(16), in_series(32)}) {
    const std::optional<Tensor> sound = one_more.computed_with(arithmetic);
    if (!sound) return false;
    ErrorBudget budget = judged.budget;
    budget.nearest = false;
    RoundingFit fit = fit_rounding(*sound, device, budget, FitUntil::first_beyond);
    if (!fit.explained()) continue;
    judged.budget = std::move(budget);
    judged.fit = std::move(fit);
    judged.in_series = arithmetic.summation;
    return true;
  }
  return false;
}

namespace rule {

Answer added_in_series(RowCase& row, Explanation& known) { return explained_if(adds_in_series(row, known)); }

}  // namespace rule
}  // namespace msrun
