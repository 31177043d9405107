// How long a run will still take, by the planned cost of its calls, and what its runners are at, for whoever shows
// progress.
#pragma once

#include <limits>
#include <vector>

#include "orchestrator/supervise/runner_process.h"
#include "orchestrator/view/progress_view.h"
#include "runner/shared/plan_view.h"
#include "runner/shared/work_items.h"

namespace msrun {

// The work of a run at one moment. Planned seconds are those of one thread of an idle host.
struct WorkState {
  double finished = 0;     // planned seconds of the calls that are finished
  double finished_in = 0;  // seconds that threads really spent on them
  double queued = 0;       // planned seconds of the calls that no thread has taken yet
  struct Running {
    double planned = 0;  // seconds
    double so_far = 0;   // seconds that it has been running for
  };
  std::vector<Running> running{};
};

// Seconds that the work takes from now on threads that run at a time, at least one; negative if nothing is planned to
// cost anything. A call in flight counts with what is left of it, and nothing once it takes longer than planned:
// between two results the estimate only falls. The plan's costs count as much as the first tenth of the work that is
// finished.
double estimated_seconds(const WorkState& work, std::size_t threads);

// The estimates of one run, one after the other.
class TimeLeft {
 public:
  // For what is in the queues, of which so much runs at a time; the plan is read by the constructor alone.
  TimeLeft(const PlanView& plan, const WorkItems& items, const std::vector<SharedQueue>& queues, std::size_t threads);

  // running: the calls in flight, whose costs are in the plan; finished_in as in WorkState. The result is never above
  // the last one until calls that amount to a tenth of what is left have finished since: some small calls that took
  // their time say little about the large ones.
  double next(const PlanView& plan, const std::vector<RunnerProcess::Activity>& running, double finished_in,
              double now);
  double next(const WorkState& work);

 private:
  struct Lane {
    SharedQueue queue;
    std::vector<double> before;  // by position in the queue: planned seconds of all positions before it
  };

  WorkItems items_;
  std::vector<Lane> lanes_;
  std::size_t threads_;
  double last_ = std::numeric_limits<double>::infinity();
  double finished_at_last_rise_ = 0;
};

// now is in steady seconds.
DeviceActivity activity_of(const RunnerProcess& runner, const PlanView& plan, const WorkItems& items, double now);

}  // namespace msrun
