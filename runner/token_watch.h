// Gives back the processor tokens of calls that use no processor: one that waits for a device that never answers would
// keep others from computing until its time is up.
#pragma once

#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

#include "runner/shared/region.h"

namespace msrun {

// A thread beside those of a runner. What it takes a token from may go on computing: for the rest of its call one
// thread more runs than there are processors, and nothing else changes.
class TokenWatch {
 public:
  // threads: those of the runner, of which thread i has slots[i]. They may end before this object, and are joined by
  // their owner after it was made. Throws std::system_error where the host gives no thread.
  TokenWatch(std::span<WorkerSlot> slots, std::vector<std::thread>& threads);
  ~TokenWatch();
  TokenWatch(const TokenWatch&) = delete;
  TokenWatch& operator=(const TokenWatch&) = delete;

 private:
  struct Watched {
    WorkerSlot* slot = nullptr;
    clockid_t clock = 0;      // of the processor time of its thread
    std::uint64_t since = 0;  // of the call that was seen
    double used = 0;          // processor time, seconds
    double still_from = 0;    // steady clock, seconds: when it had used as much already
  };
  void run();
  static void look_at(Watched& watched);

  std::vector<Watched> watched_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace msrun
