#include "orchestrator/plan/dealing.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace msrun {
namespace {

// Whole nanoseconds, at least 1, so that calls that are not run are spread as well, and at most some twenty minutes: a
// recorded shape may be absurd.
std::uint64_t cost_of(const PlanRecord& record) {
  constexpr float most = 0x1p40F;
  if (record.skip_size > 0 || !(record.cost > 1)) return 1;
  return static_cast<std::uint64_t>(std::min(record.cost, most));
}

}  // namespace

std::vector<std::uint32_t> deal(const PlanView& plan, std::uint32_t parts) {
  std::vector<std::uint64_t> costs;
  costs.reserve(plan.tasks.size());
  for (const PlanRecord& record : plan.tasks) costs.push_back(cost_of(record));
  std::vector<std::uint32_t> order(costs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::uint32_t task) { return costs[task]; });
  using Load = std::pair<std::uint64_t, std::uint32_t>;  // nanoseconds, part
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::uint32_t part = 0; part < parts; ++part) loads.emplace(0, part);
  std::vector<std::uint32_t> dealt(costs.size());
  for (const std::uint32_t task : order) {
    const auto [load, part] = loads.top();
    loads.pop();
    dealt[task] = part;
    loads.emplace(load + costs[task], part);
  }
  return dealt;
}

}  // namespace msrun
