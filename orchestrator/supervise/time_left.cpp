#include "orchestrator/supervise/time_left.h"

#include <algorithm>
#include <cmath>
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

// Calls after which a finished one counts 1/e among the recent ones, and among the last few.
constexpr double recent_calls = 32;
constexpr double few_calls = 6;

// A busy host is three times as slow as an idle one now and then.
constexpr double far_off = 3;

bool are_within(double factor, double one, double other) { return one < factor * other && other < factor * one; }

struct Estimate {
  double seconds = 0;
  double overdue = 0;  // seconds that calls in flight have taken beyond what was to be expected, for each lane
};

// By the plan, and by how much slower than planned the finished calls were.
Estimate by_plan(const WorkState& work, double slowness, std::size_t threads) {
  const auto lanes = static_cast<double>(std::max<std::size_t>(threads, 1));
  double sum = work.queued * slowness;
  double longest = 0;
  double overdue = 0;
  for (const WorkState::Running& call : work.running) {
    const double left = call.planned * slowness - call.so_far;
    sum += std::max(0.0, left);
    overdue += std::max(0.0, -left);
    longest = std::max(longest, left);
  }
  return {std::max(longest, sum / lanes), overdue / lanes};
}

// On a device that is far slower than planned, which may take its time for every element or for every call: by what was
// finished in which time. Which it is shows where calls of several sizes are finished; else both have to agree.
Estimate by_rate(const WorkState& work, double slowness, std::size_t threads) {
  const double lanes = static_cast<double>(std::max<std::size_t>(threads, 1));
  const double elapsed = work.finished_elapsed > 0 ? work.finished_elapsed : work.finished_in / lanes;
  const double time = work.finished_in / work.finished_calls;
  const double by_elements = (work.queued + planned_running(work)) * elapsed / work.finished;
  const double by_calls =
      (work.queued_calls + static_cast<double>(work.running.size())) * elapsed / work.finished_calls;
  Estimate estimate{unknown_time_left, 0};
  const bool has_both = work.last.spent > 0 && work.last.planned > 0 && work.first.spent > 0 && work.first.planned > 0;
  const double fewer = has_both ? work.last.calls / work.first.calls : 1;
  const double size_ratio = has_both ? work.first.planned / work.last.planned * fewer : 1;
  const double time_ratio = has_both ? work.first.spent / work.last.spent * fewer : 1;
  const bool has_sizes = !are_within(5, size_ratio, 1);
  if (has_sizes && are_within(2, time_ratio, 1)) {
    estimate.seconds = by_calls;
  } else if (has_sizes && are_within(2, time_ratio, size_ratio)) {
    estimate.seconds = by_elements;
  } else if (are_within(far_off, by_elements, by_calls)) {
    estimate.seconds = std::max(by_elements, by_calls);
  }
  for (const WorkState::Running& call : work.running) {
    const double expected = far_off * std::max(time, call.planned * slowness);
    estimate.overdue = std::max(estimate.overdue, call.so_far - expected);
  }
  return estimate;
}

}  // namespace

double estimated_seconds(const WorkState& work, std::size_t threads) {
  const double unfinished = planned_running(work) + work.queued;
  if (!(work.finished + unfinished > 0)) return -1;
  const double plan_weight = unfinished / 10;
  const double known = work.finished + plan_weight;
  const double slowness = known > 0 ? (work.finished_in + plan_weight) / known : 1;
  const bool is_far_off = slowness > far_off && work.finished_calls > 0 && work.finished > 0;
  const Estimate estimate = is_far_off ? by_rate(work, slowness, threads) : by_plan(work, slowness, threads);
  // A second is what a busy host may cost any call.
  return estimate.overdue > std::max(1.0, estimate.seconds / 4) ? unknown_time_left : estimate.seconds;
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

double TimeLeft::next(const PlanView& plan, const std::vector<RunnerSeat::Activity>& running, double finished_in,
                      double now) {
  WorkState work;
  for (const RunnerSeat::Activity& activity : running) {
    work.running.push_back(
        {planned_seconds(plan, items_, activity.task), activity.since > 0 ? std::max(0.0, now - activity.since) : 0});
  }
  double taken = 0;
  double calls = 0;
  for (const Lane& lane : lanes_) {
    const std::uint32_t position = std::min(lane.queue.lane->cursor.load(), lane.queue.lane->size);
    const double begun = lane.before[position];
    taken += begun;
    calls += position;
    work.queued_calls += lane.queue.lane->size - position;
    work.queued += lane.before.back() - begun;
  }
  // Calls that run again are in flight and were taken long ago, or, if they are run last, never.
  if (started_ < 0) started_ = now;
  note_finished(
      {taken - planned_running(work), finished_in, calls - static_cast<double>(running.size()), now - started_});
  work.finished = recent_.planned;
  work.finished_in = recent_.spent;
  work.finished_calls = recent_.calls;
  work.finished_elapsed = recent_.elapsed;
  work.first = first_few_;
  work.last = last_few_;
  return next(work);
}

void TimeLeft::note_finished(const FinishedCalls& now) {
  const FinishedCalls added{std::max(0.0, now.planned - all_.planned), std::max(0.0, now.spent - all_.spent),
                            std::max(0.0, now.calls - all_.calls), std::max(0.0, now.elapsed - all_.elapsed)};
  const auto add = [&](FinishedCalls& sums, double memory) {
    const double weight = std::exp(-added.calls / memory);
    sums.planned = sums.planned * weight + added.planned;
    sums.spent = sums.spent * weight + added.spent;
    sums.calls = sums.calls * weight + added.calls;
    sums.elapsed = sums.elapsed * weight + added.elapsed;
  };
  if (all_.calls < few_calls) add(first_few_, std::numeric_limits<double>::infinity());
  add(recent_, recent_calls);
  add(last_few_, few_calls);
  add(all_, std::numeric_limits<double>::infinity());
}

double TimeLeft::next(const WorkState& work) {
  const double estimate = estimated_seconds(work, threads_);
  if (estimate < 0) return estimate;
  const double unfinished = planned_running(work) + work.queued;
  if (estimate == unknown_time_left) {
    last_ = unknown_time_left;
    return estimate;
  }
  if (estimate > last_ && unfinished_at_last_rise_ - unfinished < unfinished / 10) return last_;
  if (estimate > last_ || last_ == unknown_time_left) unfinished_at_last_rise_ = unfinished;
  last_ = estimate;
  return last_;
}

DeviceActivity activity_of(const RunnerSeat& seat, const PlanView& plan, const WorkItems& items, double now) {
  DeviceActivity device;
  device.device = seat.device();
  for (const RunnerSeat::Activity& activity : seat.activities()) {
    if (activity.since > 0)
      device.calls.push_back({std::string(plan.title(items.task(activity.task))), now - activity.since});
  }
  return device;
}

}  // namespace msrun
