#include "orchestrator/supervise/lanes.h"

#include <algorithm>
#include <set>
#include <utility>

namespace msrun {
namespace {

// The queue that an item belongs to.
std::size_t queue_of(const WorkItems& items, std::uint32_t item) {
  return items.on_all_devices() ? items.device(item) : 0;
}

}  // namespace

std::uint32_t Lane::taken() const { return std::min(queue.lane->cursor.load(), queue.lane->size); }

std::vector<std::vector<std::uint32_t>> queue_orders(const Plan& plan, const ResultStore& results,
                                                     const std::vector<bool>& share,
                                                     const std::vector<std::uint32_t>& last, bool dump_order) {
  std::vector<bool> not_queued(plan.size());
  for (std::uint32_t task = 0; task < plan.size(); ++task) {
    not_queued[task] = results.is_done(task) || (!share.empty() && !share[task]);
  }
  for (const std::uint32_t task : last) not_queued[task] = true;
  std::vector<std::uint32_t> tasks = plan.order(not_queued, dump_order);
  const WorkItems& items = results.items();
  if (!items.on_all_devices()) return {std::move(tasks)};
  std::vector<std::vector<std::uint32_t>> orders(items.devices());
  for (const std::uint32_t task : tasks) {
    for (const std::uint32_t item : results.missing(task)) orders[queue_of(items, item)].push_back(item);
  }
  return orders;
}

std::vector<Lane> make_lanes(const QueueMemory& memory, const ResultStore& results, std::uint32_t most_retries,
                             const std::vector<std::uint32_t>& last) {
  const WorkItems& items = results.items();
  std::vector<std::vector<std::uint32_t>> last_items(items.devices());
  std::vector<std::set<std::uint32_t>> suspects(items.devices());
  for (const std::uint32_t task : last) {
    for (const std::uint32_t item : results.missing(task)) last_items[queue_of(items, item)].push_back(item);
    if (!items.on_all_devices()) continue;
    for (std::uint32_t part = 0; part < 2 * items.devices(); ++part) {
      const std::uint32_t item = items.item(task, part);
      suspects[queue_of(items, item)].insert(item);
    }
  }
  std::vector<Lane> lanes;
  for (std::size_t i = 0; i < last_items.size(); ++i) {
    lanes.push_back({memory.view(i), Retries(most_retries, last_items[i], std::move(suspects[i]))});
  }
  return lanes;
}

std::vector<SharedQueue> queues_of(const std::vector<Lane>& lanes) {
  std::vector<SharedQueue> queues;
  for (const Lane& lane : lanes) queues.push_back(lane.queue);
  return queues;
}

}  // namespace msrun
