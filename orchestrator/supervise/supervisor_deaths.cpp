// What the supervisor makes of the death of a runner: who is to blame, what runs again, what is said about it.
#include <unordered_set>

#include <spdlog/spdlog.h>

#include "kernels/base/process_end.h"
#include "orchestrator/supervise/death_note.h"
#include "orchestrator/supervise/supervisor.h"

namespace msrun {

// The items in the slots of a runner that are not done: all, or those that it may have died of.
std::vector<std::uint32_t> Supervisor::unfinished_tasks(const Runner& runner, bool under_way) const {
  std::vector<std::uint32_t> tasks;
  for (const RunnerSeat::Activity& activity : runner.seat.activities()) {
    if (!results_.is_item_done(activity.task) && (!under_way || activity.under_way())) tasks.push_back(activity.task);
  }
  return tasks;
}

void Supervisor::blame(Runner& runner, const std::vector<std::uint32_t>& in_flight, int wait_status) {
  const int device = runner.seat.device();
  RunnerDied event;
  event.device = device;
  event.reason = reason_of(runner, wait_status);
  const std::vector<std::uint32_t> to_blame = suspects(runner, in_flight);
  DeathNote note = death_note(runner.seat, items_, in_flight, to_blame);
  note.reason = event.reason;
  if (in_flight.empty() && is_failure(runner) && ++runner.device->failures >= options_.max_device_failures) {
    runner.device->given_up = true;
    spdlog::error("Device {} is given up: its runner {} {} times without working on a call.", device, event.reason,
                  runner.device->failures);
  }
  note.given_up = runner.device->given_up;
  for (std::size_t i = 0; i < in_flight.size(); ++i) {
    DeathNote::Call& call = note.calls[i];
    event.calls.emplace_back(plan_.view().title(call.task));
    call.again = runner.lane->retries.died(in_flight[i], call.blamed);
    if (call.again) continue;
    record_death(in_flight[i], runner, note, call);
    event.skipped.push_back(event.calls.back());
  }
  if (runner.ended == Ended::nothing_left) return;
  results_.note(encode(note));
  view_.runner_died(event);
}

// The calls over their time are to blame, and the thread that caught a signal, also one that did so while its process
// was being ended for another call. Of a process that was killed from outside every call in flight may be. A call is
// not to blame for what stops its process.
std::vector<std::uint32_t> Supervisor::suspects(const Runner& runner, const std::vector<std::uint32_t>& in_flight) {
  std::vector<std::uint32_t> tasks;
  if (runner.ended == Ended::call_over_time) tasks = runner.timed_out;
  for (const RunnerSeat::Activity& activity : runner.seat.activities()) {
    if (activity.caught_signal) tasks.push_back(activity.task);
  }
  if (runner.ended == Ended::stopped_from_outside) {
    for (const std::uint32_t item : in_flight) {
      if (runner.lane->retries.stopped_too_often(item)) tasks.push_back(item);
    }
    return tasks;
  }
  return tasks.empty() ? in_flight : tasks;
}

// Whether the end of a runner that was on no call speaks against its device.
bool Supervisor::is_failure(Runner& runner) const {
  constexpr std::uint32_t forgiven = 10;
  if (runner.ended == Ended::stopped_from_outside) return ++runner.device->idle_stops > forgiven;
  return runner.ended != Ended::nothing_left;
}

std::string Supervisor::reason_of(const Runner& runner, int wait_status) {
  const std::string within = " within " + std::to_string(static_cast<long>(runner.limit)) + " s";
  switch (runner.ended) {
    case Ended::call_over_time:
      return "no result" + within;
    case Ended::stopped_from_outside:
      return "stopped from outside, no sign of life" + within;
    case Ended::not_started:
      return "no device" + within;
    default:
      break;
  }
  const std::string words = runner.seat.last_words();
  return words.empty() ? death_text(wait_status) : words;
}

// A runner that dies between two steps of the queue may take with it that it had taken a call. What was taken and is
// neither done nor in anybody's hands runs again.
void Supervisor::take_back_lost() {
  // The queues first, the rings last: what a runner takes or finishes meanwhile is then seen as somebody's or as done.
  std::vector<std::uint32_t> taken;
  for (const Lane& lane : lanes_) taken.push_back(lane.taken());
  std::unordered_set<std::uint32_t> in_hand;
  for (const Runner& runner : runners_) {
    if (!runner.process->running()) continue;
    for (const RunnerSeat::Activity& activity : runner.seat.activities()) in_hand.insert(activity.task);
    in_hand.insert(runner.given.begin(), runner.given.end());
  }
  for (Runner& runner : runners_) {
    if (runner.process->running()) drain(runner);
  }
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    const std::uint32_t* const order = lane.queue.order;
    while (lane.settled < taken[i] && results_.is_item_done(order[lane.settled])) ++lane.settled;
    for (std::uint32_t position = lane.settled; position < taken[i]; ++position) {
      const std::uint32_t item = order[position];
      if (!results_.is_item_done(item) && !in_hand.contains(item)) lane.retries.take_back(item);
    }
  }
}

void Supervisor::record_death(std::uint32_t item, const Runner& runner, const DeathNote& note,
                              const DeathNote::Call& call) {
  ApiResult result = result_of_death(plan_.view(), note, call, runner.lane->retries.attempts(item));
  options_.check.dialect->complete_skip(result, true, plan_.view().tasks[call.task].grad_size > 0);
  result.tested_on = options_.check.tested_on;
  if (items_.on_all_devices()) {
    results_.add(ResultPart{items_.part(item), result});
    queue_wanted();
  } else {
    results_.add(result);
  }
}

}  // namespace msrun
