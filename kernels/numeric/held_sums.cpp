#include "kernels/numeric/held_sums.h"

#include <algorithm>

namespace msrun {
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

void HeldSums::hold(std::int64_t terms, std::int64_t chain) {
  if (terms > 1) held_.push_back({terms, chain});
}

void HeldSums::release(std::int64_t terms, const Tensor& sums) {
  if (std::ranges::find(results_, sums.raw()) == results_.end()) return;
  const auto found = std::ranges::find(held_, terms, &Held::terms);
  if (found != held_.end()) held_.erase(found);
}

}  // namespace msrun
