#include "orchestrator/supervise/work_share.h"

#include <algorithm>
#include <string>

namespace msrun {

WorkShare::WorkShare(const PlanView& plan, const SharedQueue& queue) : queue_(queue), before_{0} {
  before_.reserve(queue.control->task_count + 1);
  for (std::uint32_t position = 0; position < queue.control->task_count; ++position) {
    before_.push_back(before_.back() + static_cast<double>(plan.tasks[queue.order[position]].cost));
  }
}

double WorkShare::taken() const {
  const std::uint32_t taken = std::min(queue_.control->cursor.load(), queue_.control->task_count);
  return before_.back() > 0 ? before_[taken] / before_.back() : -1;
}

DeviceActivity activity_of(const RunnerProcess& runner, const PlanView& plan, double now) {
  DeviceActivity device;
  device.device = runner.device();
  if (!runner.running()) return device;
  for (const RunnerProcess::Activity& activity : runner.activities()) {
    if (activity.since > 0) device.calls.push_back({std::string(plan.name(activity.task)), now - activity.since});
  }
  return device;
}

}  // namespace msrun
