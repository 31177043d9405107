// How much an evaluation adds up. Kernels that accumulate say so (EvaluationContext::note_sums); whoever judges the
// result's rounding learns how long its sums were, and what evaluating the call once more would cost.
#pragma once

#include <cstdint>

namespace msrun {

// How devices form sums. Their rounding errors follow from how many additions wait for one another, not from how many
// terms there are.
enum class SumForm : std::uint8_t {
  // In blocks, whose totals are added as a tree: sums over a whole tensor or over rows, whose terms lie side by side.
  rows,
  // All terms one after the other, unless they are very many: products, sums over columns, and whatever meets at one
  // place.
  series,
};

// The additions that wait for one another in the longest way in which devices form a sum of so many terms.
std::int64_t chained_additions(std::int64_t terms, SumForm form);

struct SumStatistics {
  std::int64_t longest = 1;  // terms of the longest sum behind an element of a result
  std::int64_t chain = 1;    // the most chained_additions() of a sum behind one
  double additions = 0;      // of all sums together
};

}  // namespace msrun
