// The terms behind each element of a sum, measured by inputs that are changed a little.
#include <utility>
#include <vector>

#include "kernels/compare/bounds/estimates.h"
#include "runner/judge/evidence.h"
#include "runner/judge/noise.h"
#include "runner/judge/rules.h"

namespace msrun {
namespace {

// Root of the sum of the squares of the terms behind each element; undefined if it cannot be had.
Tensor spread_of_terms(const RowCase& row, std::size_t samples) {
  if (row.call.terms.defined() && !row.of_gradients && row.call.terms.shape() == row.pair.bench.shape())
    return row.call.terms;
  if (const auto* terms = row.call.complex_arguments ? nullptr : row.call.variations.squared_terms(row.limit)) {
    const std::optional<Tensor> squares = row.of(terms->all);
    const std::optional<Tensor> exact = terms->of_flags ? row.of(*terms->of_flags) : std::nullopt;
    if (squares && exact.has_value() == terms->of_flags.has_value()) return root_of(*squares, exact);
  }
  const std::vector<Evaluation>& changed = row.call.variations.changed_benchmarks(samples, row.limit);
  if (changed.empty()) return {};
  std::optional<SpreadEstimate> estimate;
  for (const Evaluation& evaluation : changed) {
    const std::optional<Tensor> tensor = row.of(evaluation);
    if (!tensor) return {};
    if (!estimate) estimate.emplace(row.pair.bench, row.call.variations.change_of(tensor->dtype()));
    estimate->add(*tensor);
  }
  return row.limit == CostLimit::many ? estimate->spread() : steadied(estimate->spread());
}

}  // namespace

bool measure_terms(const RowCase& row, std::size_t samples, Explanation& judged) {
  const auto& [bench, device] = row.pair;
  judged.budget.spread = spread_of_terms(row, samples);
  if (!judged.budget.spread.defined()) return false;
  judged.fit = fit_rounding(bench, device, judged.budget);
  return judged.is_explained();
}

namespace rule {

Answer terms_by_few_samples(RowCase& row, Explanation& known) {
  return explained_if(measure_terms(row, first_samples, known));
}

Answer terms_by_more_samples(RowCase& row, Explanation& known) {
  return explained_if(measure_terms(row, most_samples, known));
}

}  // namespace rule
}  // namespace msrun
