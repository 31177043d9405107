#include "kernels/numeric/evaluation_context.h"

#include <algorithm>

#include "kernels/tensor/work.h"

namespace msrun {

void EvaluationContext::note_sums(std::int64_t terms, std::int64_t results, SumForm form) const {
  const double additions = static_cast<double>(terms) * static_cast<double>(results);
  take_work(additions);
  if (notes == nullptr) return;
  const std::int64_t chain = chained_additions(terms, form);
  notes->held_sums.hold(terms, chain);
  notes->sums.longest = std::max(notes->sums.longest, terms);
  notes->sums.chain = std::max(notes->sums.chain, chain);
  notes->sums.additions += additions;
}

}  // namespace msrun
