// One device's runner as the supervisor holds it: the process, its slots and rings in shared memory, and the
// descriptors that tell of it. Passive: it is started, looked at, killed and reaped; when and why is for others to say.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/unique_fd.h"
#include "runner/shared/region.h"

namespace msrun {

class RunnerProcess {
 public:
  // Slots and rings [first_slot, first_slot + threads) of the queue are this runner's alone. The queue's memory
  // outlives it. Throws std::system_error if there is no descriptor left.
  RunnerProcess(int device, SharedQueue queue, std::size_t first_slot, std::size_t threads);
  // Kills and reaps a process that still runs.
  ~RunnerProcess();
  RunnerProcess(RunnerProcess&& other) noexcept;
  RunnerProcess& operator=(RunnerProcess&&) = delete;

  int device() const { return device_; }
  std::size_t first_slot() const { return first_slot_; }
  std::size_t threads() const { return threads_; }

  // Empties slots and rings and forks. The child runs body, then ends with exit code 0, or 4 after a message on stderr
  // if body throws; it dies with this process. Not while a process runs. Throws std::system_error.
  void start(const std::function<void()>& body);
  bool running() const { return pid_ > 0; }

  // Can be read once the process has ended; open from start() until the next one.
  int end_descriptor() const { return pidfd_.get(); }
  // A counter that the runner adds to when a ring has something.
  int results_descriptor() const { return results_.get(); }

  // Hands over the whole records that have come through the rings.
  void drain(const std::function<void(std::string_view record)>& take);

  // What a thread is at, as far as its slot tells; that of a dead process tells what it died at.
  struct Activity {
    std::uint32_t task = 0;
    std::uint32_t thread = 0;  // of this process's
    double since = 0;          // steady seconds; 0: it has not begun, or has come to its result
    bool caught_signal = false;
    // Whether the process may have died of it.
    bool under_way() const { return since > 0 || caught_signal; }
  };
  std::vector<Activity> activities() const;
  // Why a dead process has ended itself; empty if it did not.
  std::string last_words() const;
  // The slots of its threads.
  std::span<const WorkerSlot> slots() const { return queue_.slots.subspan(first_slot_, threads_); }

  void kill() const;
  // The wait status of a process that has ended by itself or by kill(), as of a killed one if it cannot be had; nothing
  // while it runs. Its slots keep what it died at until the next start().
  std::optional<int> reap();
  // Kills a process that runs, and waits for its end.
  void end_now();
  // Gives back memory and processor tokens that a dead process had taken.
  void release_slots() const;

  // Resident bytes of the largest of its processes that were reaped by reap().
  std::uint64_t peak() const { return peak_; }

 private:
  int device_;
  SharedQueue queue_;
  std::size_t first_slot_;
  std::size_t threads_;
  pid_t pid_ = -1;
  UniqueFd pidfd_;
  UniqueFd results_;
  std::vector<std::string> received_;  // per ring: bytes not yet complete as a record
  std::uint64_t peak_ = 0;
};

}  // namespace msrun
