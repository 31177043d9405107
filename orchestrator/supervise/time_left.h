// How long a run will still take, by the planned cost of its calls, and what its runners are at, for whoever shows
// progress.
#pragma once

#include <limits>
#include <vector>

#include "orchestrator/supervise/runner_seat.h"
#include "orchestrator/view/progress_view.h"
#include "runner/shared/plan_view.h"
#include "runner/shared/work_items.h"

namespace msrun {

// Calls that are finished: of a kind, or with weights.
struct FinishedCalls {
  double planned = 0;  // seconds of one thread of an idle host
  double spent = 0;    // seconds that threads really spent on them
  double calls = 0;
  double elapsed = 0;  // seconds of the run in which they were finished
};

// The work of a run at one moment. Planned seconds are those of one thread of an idle host.
struct WorkState {
  double finished = 0;     // planned seconds of the calls that are finished and say how fast the others will be
  double finished_in = 0;  // seconds that threads really spent on them
  double queued = 0;       // planned seconds of the calls that no thread has taken yet
  double finished_calls = 0;
  double queued_calls = 0;
  double finished_elapsed = 0;  // seconds of the run in which these were finished; 0: not known
  FinishedCalls first{};        // the first few of the run, and the last few
  FinishedCalls last{};
  struct Running {
    double planned = 0;  // seconds
    double so_far = 0;   // seconds that it has been running for
  };
  std::vector<Running> running{};
};

// The estimate while what is known speaks against it.
inline constexpr double unknown_time_left = std::numeric_limits<double>::infinity();

// Seconds that the work takes from now on threads that run at a time, at least one; negative if nothing is planned to
// cost anything. A call in flight counts with what is left of it, and nothing once it takes longer than planned:
// between two results the estimate only falls. The plan counts as much as a tenth of what is not finished.
// It is unknown while the calls in flight have taken so much longer that a device may be slower by any factor. It is
// also unknown while calls are far slower than planned, all those that are finished are of one size and those to come
// of another: whether a device takes its time for every call or for every element has not shown yet.
double estimated_seconds(const WorkState& work, std::size_t threads);

// The estimates of one run, one after the other.
class TimeLeft {
 public:
  // For what is in the queues, of which so much runs at a time; the plan is read by the constructor alone.
  TimeLeft(const PlanView& plan, const WorkItems& items, const std::vector<SharedQueue>& queues, std::size_t threads);

  // running: the calls in flight, whose costs are in the plan; finished_in as in WorkState. The result is never above
  // the last one until calls that amount to a tenth of what is left have finished since: some small calls that took
  // their time say little about the large ones. What was unknown in between has no say. Of finished calls the last ones
  // count most: large calls come first, and a device that takes its time for every call shows it with the small ones.
  double next(const PlanView& plan, const std::vector<RunnerSeat::Activity>& running, double finished_in, double now);
  double next(const WorkState& work);

 private:
  void note_finished(const FinishedCalls& now);

  struct Lane {
    SharedQueue queue;
    std::vector<double> before;  // by position in the queue: planned seconds of all positions before it
  };

  WorkItems items_;
  std::vector<Lane> lanes_;
  std::size_t threads_;
  double last_ = unknown_time_left;
  double unfinished_at_last_rise_ = unknown_time_left;
  double started_ = -1;  // steady seconds of the first estimate
  FinishedCalls all_;
  FinishedCalls recent_;  // with weights that fall with every later call
  FinishedCalls first_few_;
  FinishedCalls last_few_;
};

// now is in steady seconds.
DeviceActivity activity_of(const RunnerSeat& seat, const PlanView& plan, const WorkItems& items, double now);

}  // namespace msrun
