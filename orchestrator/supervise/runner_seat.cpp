#include "orchestrator/supervise/runner_seat.h"

#include "runner/shared/queue_steps.h"

namespace msrun {

void RunnerSeat::clear() {
  for (std::size_t i = 0; i < threads_; ++i) {
    queue_.rings[first_slot_ + i].reset();
    WorkerSlot& slot = queue_.slots[first_slot_ + i];
    slot.task.store(WorkerSlot::idle);
    slot.since.store(0);
    slot.fatal_signal.store(0);
    slot.ready.store(0);
    slot.kept.store(0);
    slot.last_words.front() = 0;
    received_[i].clear();
  }
}

void RunnerSeat::drain(const std::function<void(std::string_view record)>& take) {
  for (std::size_t i = 0; i < threads_; ++i) {
    looking();
    std::string& received = received_[i];
    queue_.rings[first_slot_ + i].drain(received);
    std::size_t consumed = 0;
    std::string_view record;
    while (unframe_record(received, consumed, record)) take(record);
    received.erase(0, consumed);
  }
}

std::vector<RunnerSeat::Activity> RunnerSeat::activities() const {
  std::vector<Activity> activities;
  std::uint32_t next = 0;
  for (const WorkerSlot& slot : slots()) {
    looking();
    const std::uint32_t thread = next++;
    const std::uint32_t task = slot.task.load();
    if (task == WorkerSlot::idle) continue;
    activities.push_back({task, thread, static_cast<double>(slot.since.load()) * 1e-9, slot.fatal_signal.load() != 0});
  }
  return activities;
}

std::string RunnerSeat::last_words() const {
  for (const WorkerSlot& slot : slots()) {
    const std::string_view words(slot.last_words.data(), slot.last_words.size() - 1);
    if (words.front() != 0) return std::string(words.substr(0, words.find('\0')));
  }
  return {};
}

void RunnerSeat::release() const {
  for (WorkerSlot& slot : queue_.slots.subspan(first_slot_, threads_)) queue_.release(slot);
}

}  // namespace msrun
