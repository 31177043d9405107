// What a look at the result tells, or one computation of the call in its own dtypes.
#include "kernels/compare/bounds/exact_results.h"
#include "kernels/compare/bounds/rounding_screens.h"
#include "runner/judge/evidence.h"
#include "runner/judge/rules.h"

namespace msrun {
namespace {

// A logarithm errs by what lies behind it and not by its own size, which the screens go by: it is held to its last
// steps.
std::int64_t chain_of_screens(const SumStatistics& sums, const ErrorBudget& budget) {
  return budget.of_logarithms ? 1 : sums.chain;
}

}  // namespace

namespace rule {

Answer copies(RowCase& row, Explanation& known) {
  if (!known.budget.exact) return Answer::open;
  const auto& [bench, device] = row.pair;
  if (row.passes && surely_equal(bench, device)) return Answer::explained;
  known.fit = fit_rounding(bench, device, known.budget);
  if (known.is_explained()) return Answer::explained;
  if (take_sides_of_steps(row, known)) return Answer::ended;
  const std::optional<Tensor> sound = row.computed_with({});
  if (!sound || surely_equal(bench, *sound)) return Answer::ended;
  // Gradients of what was copied several times are sums after all.
  known.budget.exact = false;
  known.fit = {};
  return Answer::open;
}

Answer last_place(RowCase& row, Explanation& known) {
  if (row.passes) return Answer::open;
  known.fit = fit_rounding(row.pair.bench, row.pair.device, known.budget);
  return explained_if(known.is_explained());
}

Answer screens(RowCase& row, Explanation& known) {
  known.budget.longest = row.sums.longest;
  known.budget.chain = row.sums.chain;
  if (!row.passes) return Answer::open;
  const auto& [bench, device] = row.pair;
  const std::int64_t chain = chain_of_screens(row.sums, known.budget);
  const bool is_covered =
      surely_rounding(bench, device, chain) || (row.sums.longest > 1 && surely_rounding_of_sums(bench, device, chain));
  return explained_if(is_covered);
}

Answer typical_sums(RowCase& row, Explanation& known) {
  const bool adds = row.sums.longest > 1;
  // A row has a fit of its own from here on: one that is found nowhere to be explained must not pass for explained.
  if (adds || row.passes) known.fit = fit_rounding(row.pair.bench, row.pair.device, known.budget);
  // Without sums the typical result says nothing about what lies behind one element; of passes in wide dtypes the
  // screen has said it already.
  const bool counts = adds || (row.passes && is_half(row.pair.device.dtype()));
  return explained_if(counts && known.is_explained());
}

Answer same_in_its_dtypes(RowCase& row, Explanation& known) {
  if (!row.passes) return Answer::open;
  const std::optional<Tensor> sound = row.computed_with({});
  if (!sound || !surely_rounding(*sound, row.pair.device, chain_of_screens(row.sums, known.budget)))
    return Answer::open;
  known.fit = {};
  return Answer::explained;
}

}  // namespace rule
}  // namespace msrun
