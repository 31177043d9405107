#include "orchestrator/supervise/time_limits.h"

#include <algorithm>

#include <spdlog/spdlog.h>

#include "kernels/base/clock.h"

namespace msrun {

double TimeLimits::of(std::uint32_t task) const {
  // Costs are estimates for an idle core of today; a busy host or a slow device takes its time.
  constexpr double patience = 50;
  constexpr double least = 300;
  if (seconds_) return *seconds_;
  return std::max(least, patience * static_cast<double>(plan_.tasks[task].cost) * 1e-9);
}

std::vector<std::uint32_t> TimeLimits::exceeded(const RunnerProcess& runner) {
  std::vector<std::uint32_t> tasks;
  if (seconds_ == 0.0) return tasks;
  const double now = steady_seconds();
  for (const RunnerProcess::Activity& activity : runner.activities()) {
    if (activity.since == 0) continue;
    const double limit = of(activity.task);
    const double time = now - activity.since;
    if (time > limit) {
      tasks.push_back(activity.task);
    } else if (time > limit / 2 && std::find(warned_.begin(), warned_.end(), activity.task) == warned_.end()) {
      warned_.push_back(activity.task);
      spdlog::warn("{} has been running for {:.0f} s on device {}; it is ended after {:.0f} s (--task-timeout).",
                   plan_.name(activity.task), time, runner.device(), limit);
    }
  }
  return tasks;
}

}  // namespace msrun
