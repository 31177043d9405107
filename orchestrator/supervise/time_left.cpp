#include "orchestrator/supervise/time_left.h"

#include <algorithm>
#include <string>

namespace msrun {
namespace {

double planned_seconds(const PlanView& plan, std::uint32_t task) {
  return static_cast<double>(plan.tasks[task].cost) * 1e-9;
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

TimeLeft::TimeLeft(const PlanView& plan, const SharedQueue& queue, std::size_t threads)
    : queue_(queue), threads_(threads), before_{0} {
  before_.reserve(queue.control->task_count + 1);
  for (std::uint32_t position = 0; position < queue.control->task_count; ++position) {
    before_.push_back(before_.back() + planned_seconds(plan, queue.order[position]));
  }
}

double TimeLeft::next(const PlanView& plan, const std::vector<RunnerProcess::Activity>& running, double finished_in,
                      double now) {
  WorkState work;
  for (const RunnerProcess::Activity& activity : running) {
    work.running.push_back(
        {planned_seconds(plan, activity.task), activity.since > 0 ? std::max(0.0, now - activity.since) : 0});
  }
  const double taken = before_[std::min(queue_.control->cursor.load(), queue_.control->task_count)];
  // Calls that run again are in flight and were taken long ago, or, if they are run last, never.
  work.finished = std::max(0.0, taken - planned_running(work));
  work.finished_in = finished_in;
  work.queued = before_.back() - taken;
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
