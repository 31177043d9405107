#include "orchestrator/supervise/time_left.h"

#include <algorithm>
#include <string>

namespace msrun {
namespace {

// A check computes the call twice, the benchmark in higher precision, and compares.
double planned_seconds(const PlanView& plan, const WorkItems& items, std::uint32_t item) {
  constexpr double device_alone = 0.3;
  const bool is_check = !items.on_all_devices() || items.is_check(items.part(item));
  return static_cast<double>(plan.tasks[items.task(item)].cost) * 1e-9 * (is_check ? 1 : device_alone);
}

double planned_running(const WorkState& work) {
  double planned = 0;
  for (const WorkState::Running& call : work.running) planned += call.planned;
  return planned;
}

}  // namespace

double estimated_seconds(const WorkState& work, std::size_t threads) {
  const double total = work.finished + planned_running(work) + work.queued;
  if (!(total > 0)) return -1;
  const double plan_weight = total / 10;
  const double slowness = (work.finished_in + plan_weight) / (work.finished + plan_weight);
  double sum = work.queued * slowness;
  double longest = 0;
  for (const WorkState::Running& call : work.running) {
    const double left = std::max(0.0, call.planned * slowness - call.so_far);
    sum += left;
    longest = std::max(longest, left);
  }
  return std::max(longest, sum / static_cast<double>(std::max<std::size_t>(threads, 1)));
}

TimeLeft::TimeLeft(const PlanView& plan, const WorkItems& items, const std::vector<SharedQueue>& queues,
                   std::size_t threads)
    : items_(items), threads_(threads) {
  for (const SharedQueue& queue : queues) {
    Lane& lane = lanes_.emplace_back(Lane{queue, {0}});
    lane.before.reserve(queue.lane->size + 1);
    for (std::uint32_t position = 0; position < queue.lane->size; ++position) {
      lane.before.push_back(lane.before.back() + planned_seconds(plan, items, queue.order[position]));
    }
  }
}

double TimeLeft::next(const PlanView& plan, const std::vector<RunnerProcess::Activity>& running, double finished_in,
                      double now) {
  WorkState work;
  for (const RunnerProcess::Activity& activity : running) {
    work.running.push_back(
        {planned_seconds(plan, items_, activity.task), activity.since > 0 ? std::max(0.0, now - activity.since) : 0});
  }
  double taken = 0;
  for (const Lane& lane : lanes_) {
    const double begun = lane.before[std::min(lane.queue.lane->cursor.load(), lane.queue.lane->size)];
    taken += begun;
    work.queued += lane.before.back() - begun;
  }
  // Calls that run again are in flight and were taken long ago, or, if they are run last, never.
  work.finished = std::max(0.0, taken - planned_running(work));
  work.finished_in = finished_in;
  return next(work);
}

double TimeLeft::next(const WorkState& work) {
  const double estimate = estimated_seconds(work, threads_);
  if (estimate < 0) return estimate;
  const double unfinished = planned_running(work) + work.queued;
  if (estimate > last_ && work.finished - finished_at_last_rise_ < unfinished / 10) return last_;
  if (estimate > last_) finished_at_last_rise_ = work.finished;
  last_ = estimate;
  return last_;
}

DeviceActivity activity_of(const RunnerProcess& runner, const PlanView& plan, const WorkItems& items, double now) {
  DeviceActivity device;
  device.device = runner.device();
  if (!runner.running()) return device;
  for (const RunnerProcess::Activity& activity : runner.activities()) {
    if (activity.since > 0)
      device.calls.push_back({std::string(plan.title(items.task(activity.task))), now - activity.since});
  }
  return device;
}

}  // namespace msrun
