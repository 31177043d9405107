// How long a call may take before its runner is ended, and how long a runner may go on without one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "orchestrator/supervise/runner_clock.h"
#include "runner/shared/plan_view.h"
#include "runner/shared/work_items.h"

namespace msrun {

class TimeLimits {
 public:
  // seconds for every call, 0 for no limit; unset: by the cost of each, which is run so many times, at least five
  // minutes. The plan outlives this.
  TimeLimits(std::optional<double> seconds, const PlanView& plan, std::uint32_t runs = 1, WorkItems items = {})
      : seconds_(seconds), plan_(plan), runs_(runs), items_(items) {}

  // Seconds; not to be asked where there is no limit.
  double of(std::uint32_t item) const;

  // The items of a runner that are over their time. Warns, once per call, when half of it is over.
  std::vector<std::uint32_t> exceeded(const RunnerClock& clock, int device);

  // Seconds without a sign of life after which a runner is given up as stopped: thirty, or what a call may take if that
  // is less, but at least two.
  double silent() const;
  // Seconds for making a device: what a call may take, but at least five minutes.
  double starting() const;
  // Seconds that a runner has to end once nothing is left for it, stopped or not: ten, or silent() if that is less.
  double idle() const;

 private:
  std::optional<double> seconds_;
  const PlanView& plan_;
  double runs_;
  WorkItems items_;
  std::vector<std::uint32_t> warned_;
};

}  // namespace msrun
