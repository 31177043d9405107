#include "orchestrator/supervise/runner_clock.h"

#include <algorithm>

namespace msrun {
namespace {

// Seconds. The supervisor looks at its runners ten times a second; a pause that is longer than this is none that the
// load of the host explains.
constexpr double longest_pause = 0.5;
// A runner gives a sign of life twenty times a second.
constexpr double between_signs = 0.25;

}  // namespace

double OwnTime::pass(double now) {
  const double passed = std::clamp(now - last_, 0.0, longest_pause);
  last_ = now;
  return passed;
}

void RunnerClock::restart() {
  calls_.assign(slots_.size(), {});
  heartbeat_ = slots_.front().heartbeat.load();
  silent_ = 0;
  starting_ = 0;
  idle_ = 0;
}

void RunnerClock::pass(double seconds, bool nothing_left) {
  const std::uint32_t heartbeat = slots_.front().heartbeat.load();
  silent_ = heartbeat == heartbeat_ ? silent_ + seconds : 0;
  heartbeat_ = heartbeat;
  const double counted = silent_ < between_signs ? seconds : 0;
  if (slots_.front().ready.load() == 0) starting_ += counted;
  idle_ = nothing_left ? idle_ + counted : 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::uint32_t task = slots_[i].task.load();
    const std::uint64_t since = slots_[i].since.load();
    Call& call = calls_[i];
    if (task == WorkerSlot::idle || since == 0) {
      call = {};
    } else if (task == call.task && since == call.since) {
      if (slots_[i].kept_waiting.load() == 0) call.seconds += counted;
    } else {
      call = {task, since, 0};
    }
  }
}

std::vector<RunnerClock::Call> RunnerClock::calls() const {
  std::vector<Call> calls = calls_;
  std::erase_if(calls, [](const Call& call) { return call.task == WorkerSlot::idle; });
  return calls;
}

}  // namespace msrun
