#include "kernels/numeric/sums.h"

#include "kernels/numeric/held_sums.h"
#include "kernels/tensor/work.h"

namespace msrun {
namespace {

thread_local SumRecorder* current = nullptr;

}  // namespace

SumRecorder::SumRecorder() : innermost_(current, this) {}

void note_sums(std::int64_t terms, std::int64_t results) {
  const double additions = static_cast<double>(terms) * static_cast<double>(results);
  take_work(additions);
  hold_sums(terms);
  if (current == nullptr) return;
  SumStatistics& seen = current->seen_;
  seen.longest = std::max(seen.longest, terms);
  seen.additions += additions;
}

}  // namespace msrun
