#include "orchestrator/supervise/time_limits.h"

#include <algorithm>
#include <limits>

#include <spdlog/spdlog.h>

namespace msrun {
namespace {

// Seconds.
constexpr double five_minutes = 300;
constexpr double longest_silence = 30;
constexpr double shortest_silence = 2;
constexpr double longest_idleness = 10;

}  // namespace

double TimeLimits::of(std::uint32_t item) const {
  // Costs are estimates for an idle core of today; a busy host or a slow device takes its time.
  constexpr double patience = 50;
  if (seconds_) return *seconds_;
  return std::max(five_minutes, patience * runs_ * static_cast<double>(plan_.tasks[items_.task(item)].cost) * 1e-9);
}

std::vector<std::uint32_t> TimeLimits::exceeded(const RunnerClock& clock, int device) {
  std::vector<std::uint32_t> tasks;
  if (seconds_ == 0.0) return tasks;
  for (const RunnerClock::Call& call : clock.calls()) {
    const double limit = of(call.task);
    if (call.seconds > limit) {
      tasks.push_back(call.task);
    } else if (call.seconds > limit / 2 && std::find(warned_.begin(), warned_.end(), call.task) == warned_.end()) {
      warned_.push_back(call.task);
      spdlog::warn("{} has been running for {:.0f} s on device {}; it is ended after {:.0f} s (--task-timeout).",
                   plan_.title(items_.task(call.task)), call.seconds, device, limit);
    }
  }
  return tasks;
}

double TimeLimits::silent() const {
  if (!seconds_ || *seconds_ == 0) return longest_silence;
  return std::clamp(*seconds_, shortest_silence, longest_silence);
}

double TimeLimits::starting() const {
  if (seconds_ == 0.0) return std::numeric_limits<double>::infinity();
  return std::max(five_minutes, seconds_.value_or(0));
}

double TimeLimits::idle() const { return std::min(silent(), longest_idleness); }

}  // namespace msrun
