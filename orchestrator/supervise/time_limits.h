// How long a call may take before its runner is ended.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "orchestrator/supervise/runner_process.h"
#include "runner/shared/plan_view.h"

namespace msrun {

class TimeLimits {
 public:
  // seconds for every call, 0 for no limit; unset: by the cost of each, at least five minutes. The plan outlives this.
  TimeLimits(std::optional<double> seconds, const PlanView& plan) : seconds_(seconds), plan_(plan) {}

  // Seconds; not to be asked where there is no limit.
  double of(std::uint32_t task) const;

  // The calls of a runner that are over their time. Warns, once per call, when half of it is over.
  std::vector<std::uint32_t> exceeded(const RunnerProcess& runner);

 private:
  std::optional<double> seconds_;
  const PlanView& plan_;
  std::vector<std::uint32_t> warned_;
};

}  // namespace msrun
