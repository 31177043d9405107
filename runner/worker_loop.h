// The way of one thread of a runner through the shared queue: it takes an item, is admitted, has the item checked and
// sends the result, in steps between any two of which its process may die. What checking is, is for others to say.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runner/results/result.h"
#include "runner/runner.h"

namespace msrun {

class WorkerLoop {
 public:
  // Thread index of the runner that setup is of. next_retry, the next of RunnerSetup::retries, is common to the threads
  // of a runner. Both references outlive it.
  WorkerLoop(const RunnerSetup& setup, std::size_t index, std::atomic<std::size_t>& next_retry);
  virtual ~WorkerLoop() = default;
  WorkerLoop(const WorkerLoop&) = delete;
  WorkerLoop& operator=(const WorkerLoop&) = delete;

  // Until nothing is left for it, or the run is being stopped.
  void run();

 protected:
  // The result of the item, which has begun and is admitted; nothing if the run is being stopped.
  virtual std::optional<ApiResult> check(std::uint32_t item) = 0;
  // Tells the supervisor that a ring has something, where nobody else has since it last looked.
  virtual void wake() = 0;

  // For a check that needs more memory than it was admitted with: waits for so many bytes and begins again. False if
  // the run is being stopped.
  bool begin_again(std::uint64_t bytes);

  const RunnerSetup& setup() const { return setup_; }
  WorkerSlot& slot() const { return slot_; }

 private:
  bool any_left() const;
  std::optional<std::uint32_t> take();
  void begin();
  void send(std::string_view record);

  const RunnerSetup& setup_;
  std::uint32_t thread_;     // of this process's
  std::uint64_t began_ = 0;  // the call under way: microseconds since 1970
  WorkerSlot& slot_;
  ResultRing& ring_;
  std::atomic<std::size_t>& next_retry_;
};

}  // namespace msrun
