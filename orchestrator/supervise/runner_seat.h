// One device's runner as far as it is shared memory: its slots and rings, whichever process has them now.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runner/shared/region.h"

namespace msrun {

class RunnerSeat {
 public:
  // Slots and rings [first_slot, first_slot + threads) of the queue are this runner's alone. The queue's memory
  // outlives it.
  RunnerSeat(int device, SharedQueue queue, std::size_t first_slot, std::size_t threads)
      : device_(device), queue_(queue), first_slot_(first_slot), threads_(threads), received_(threads) {}

  int device() const { return device_; }
  std::size_t first_slot() const { return first_slot_; }
  std::size_t threads() const { return threads_; }
  std::span<const WorkerSlot> slots() const { return queue_.slots.subspan(first_slot_, threads_); }

  // Empties slots and rings for the next process. Not while one runs.
  void clear();

  // Hands over the whole records that have come through the rings.
  void drain(const std::function<void(std::string_view record)>& take);

  // What a thread is at, as far as its slot tells; that of a dead process tells what it died at.
  struct Activity {
    std::uint32_t task = 0;
    std::uint32_t thread = 0;  // of its process's
    double since = 0;          // steady seconds; 0: it has not begun, or has come to its result
    bool caught_signal = false;
    // Whether the process may have died of it.
    bool under_way() const { return since > 0 || caught_signal; }
  };
  std::vector<Activity> activities() const;
  // Why a dead process has ended itself; empty if it did not.
  std::string last_words() const;

  // Gives back memory and processor tokens that a dead process had taken.
  void release() const;

 private:
  int device_;
  SharedQueue queue_;
  std::size_t first_slot_;
  std::size_t threads_;
  std::vector<std::string> received_;  // per ring: bytes not yet complete as a record
};

}  // namespace msrun
