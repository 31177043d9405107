// What a runner has spent its time on, as far as the supervisor can say so: the time of its calls, and the time without
// a sign of life. Only time counts in which the supervisor itself ran; that of a call, only while its runner ran, too.
// A job that is stopped and continued, on a host that may sleep in between, has grown no older.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runner/shared/region.h"

namespace msrun {

// How much of the time that has passed counts.
class OwnTime {
 public:
  // now, here and below, is in steady seconds.
  explicit OwnTime(double now) : last_(now) {}

  // Seconds since the last call; of a longer pause, in which this process was not run, only a moment.
  double pass(double now);

 private:
  double last_;
};

class RunnerClock {
 public:
  // The slots of one runner, of which there is at least one.
  explicit RunnerClock(std::span<const WorkerSlot> slots) : slots_(slots), calls_(slots.size()) {}

  // A new process has begun.
  void restart();
  // So many seconds have passed. To be called several times a second. nothing_left: the runner ought to end.
  void pass(double seconds, bool nothing_left);

  // Seconds without a sign of life of the process: it is stopped, or the host does not run it.
  double silent() const { return silent_; }
  // Seconds that it has taken to make its device, so far or altogether.
  double starting() const { return starting_; }
  // Seconds for which it has run on with nothing left to do.
  double idle() const { return idle_; }

  struct Call {
    std::uint32_t task = WorkerSlot::idle;
    std::uint64_t since = 0;  // as in its slot: tells one attempt from the next
    double seconds = 0;
  };
  // The calls that it is at.
  std::vector<Call> calls() const;

 private:
  std::span<const WorkerSlot> slots_;
  std::vector<Call> calls_;  // by slot; of an idle one the default
  std::uint32_t heartbeat_ = 0;
  double silent_ = 0;
  double starting_ = 0;
  double idle_ = 0;
};

}  // namespace msrun
