// How much of the estimated work of a run is done, and what its runners are at, for whoever shows progress.
#pragma once

#include <vector>

#include "orchestrator/supervise/runner_process.h"
#include "orchestrator/view/progress_view.h"
#include "runner/shared/plan_view.h"

namespace msrun {

class WorkShare {
 public:
  // For the calls in the queue; the plan is read by the constructor alone.
  WorkShare(const PlanView& plan, const SharedQueue& queue);

  // Share 0..1 of the work that has been taken from the queue; negative if nothing in it costs anything.
  double taken() const;

 private:
  SharedQueue queue_;
  std::vector<double> before_;  // by position in the queue: work of all positions before it
};

// now is in steady seconds.
DeviceActivity activity_of(const RunnerProcess& runner, const PlanView& plan, double now);

}  // namespace msrun
