// How much an evaluation adds up. Kernels that accumulate say so here; whoever judges the result's rounding learns how
// long its sums were, and what evaluating the call once more would cost.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/base/replaced.h"

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

// Collects what kernels note on the calling thread while it lives. An inner one collects in the outer one's stead until
// it ends.
class SumRecorder {
 public:
  SumRecorder();

  const SumStatistics& seen() const { return seen_; }

 private:
  friend void note_sums(std::int64_t terms, std::int64_t results, SumForm form);

  SumStatistics seen_;
  Replaced<SumRecorder*> innermost_;
};

// Called by a kernel once per tensor it computes, before it does, on the thread that evaluates the call: every one of
// results elements is a sum of up to this many terms. They count as work of the call: throws SkipError where that is
// out of proportion (kernels/tensor/work.h).
void note_sums(std::int64_t terms, std::int64_t results, SumForm form = SumForm::series);

}  // namespace msrun
