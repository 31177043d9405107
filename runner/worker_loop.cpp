#include "runner/worker_loop.h"

#include <chrono>

#include "kernels/base/clock.h"
#include "runner/results/record.h"
#include "runner/shared/queue_steps.h"

namespace msrun {
namespace {

// Between two looks at whether a full ring was emptied.
constexpr std::chrono::microseconds full_ring_step{200};

}  // namespace

WorkerLoop::WorkerLoop(const RunnerSetup& setup, std::size_t index, std::atomic<std::size_t>& next_retry)
    : setup_(setup),
      thread_(static_cast<std::uint32_t>(index)),
      slot_(setup.queue.slots[setup.first_slot + index]),
      ring_(setup.queue.rings[setup.first_slot + index]),
      next_retry_(next_retry) {}

void WorkerLoop::run() {
  while (setup_.queue.acquire_processor(slot_, [&] { return any_left(); })) {
    const std::optional<std::uint32_t> item = take();
    if (!item) break;
    // Waiting for memory is waiting for others and does not count as time of this task.
    if (!setup_.queue.admit(slot_, setup_.plan.tasks[setup_.items.task(*item)].memory)) break;
    begin();
    std::optional<ApiResult> result = check(*item);
    if (!result) break;
    result->run = {thread_, began_, (steady_nanoseconds() - slot_.since.load()) / 1000};
    // Nor does what follows, which depends on the supervisor.
    slot_.since.store(0);
    passed(QueueStep::call_computed);
    setup_.queue.release(slot_);
    send(setup_.items.on_all_devices() ? encode(ResultPart{setup_.items.part(*item), *result}) : encode(*result));
    passed(QueueStep::result_sent);
    slot_.task.store(WorkerSlot::idle);
    passed(QueueStep::slot_emptied);
  }
  setup_.queue.release(slot_);
  slot_.task.store(WorkerSlot::idle);
  passed(QueueStep::thread_done);
}

bool WorkerLoop::begin_again(std::uint64_t bytes) {
  setup_.queue.release(slot_);
  slot_.since.store(0);
  if (!setup_.queue.acquire_processor(slot_, [] { return true; }) || !setup_.queue.admit(slot_, bytes)) return false;
  begin();
  return true;
}

bool WorkerLoop::any_left() const {
  return next_retry_.load() < setup_.retries.size() || (!setup_.alone && setup_.queue.any_left());
}

std::optional<std::uint32_t> WorkerLoop::take() {
  slot_.since.store(0);
  const std::size_t retry = next_retry_.fetch_add(1);
  if (retry < setup_.retries.size()) {
    passed(QueueStep::retry_taken);
    slot_.task.store(setup_.retries[retry]);
    return setup_.retries[retry];
  }
  return setup_.alone ? std::nullopt : setup_.queue.take(slot_);
}

void WorkerLoop::begin() {
  slot_.since.store(steady_nanoseconds());
  began_ = static_cast<std::uint64_t>(unix_seconds() * 1e6);
  passed(QueueStep::call_begun);
}

void WorkerLoop::send(std::string_view record) {
  const std::string framed = frame_record(record);
  std::string_view rest = framed;
  while (true) {
    rest.remove_prefix(ring_.push(rest));
    if (setup_.queue.control->results_waiting.exchange(1) == 0) {
      passed(QueueStep::result_announced);
      wake();
      passed(QueueStep::supervisor_woken);
    }
    if (rest.empty()) return;
    pause_for(full_ring_step);
  }
}

}  // namespace msrun
