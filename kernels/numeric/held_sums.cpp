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
  for (const Held& sum : held_) longest = std::max(longest, sum.terms);
  return longest;
}

std::int64_t HeldSums::chain() const {
  std::int64_t chain = 1;
  for (const Held& sum : held_) chain = std::max(chain, sum.chain);
  return chain;
}

void hold_sums(std::int64_t terms, std::int64_t chain) {
  if (current != nullptr && terms > 1) current->held_.push_back({terms, chain});
}

void release_sums(std::int64_t terms, const Tensor& sums) {
  if (current == nullptr || std::ranges::find(current->results_, sums.raw()) == current->results_.end()) return;
  const auto found = std::ranges::find(current->held_, terms, &HeldSums::Held::terms);
  if (found != current->held_.end()) current->held_.erase(found);
}

}  // namespace msrun
