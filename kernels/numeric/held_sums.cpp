#include "kernels/numeric/held_sums.h"

#include <algorithm>

namespace msrun {
namespace {

thread_local HeldSums* current = nullptr;

}  // namespace

HeldSums::HeldSums() : innermost_(current, this) {}

void HeldSums::add_result(const Tensor& result) { results_.push_back(result.raw()); }

std::int64_t HeldSums::longest() const {
  std::int64_t longest = 1;
  for (const std::int64_t terms : terms_) longest = std::max(longest, terms);
  return longest;
}

void hold_sums(std::int64_t terms) {
  if (current != nullptr && terms > 1) current->terms_.push_back(terms);
}

void release_sums(std::int64_t terms, const Tensor& sums) {
  if (current == nullptr || std::ranges::find(current->results_, sums.raw()) == current->results_.end()) return;
  const auto found = std::ranges::find(current->terms_, terms);
  if (found != current->terms_.end()) current->terms_.erase(found);
}

}  // namespace msrun
