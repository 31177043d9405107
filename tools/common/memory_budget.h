// Memory that the threads of one command share. Each says what it is about to load and waits until that fits beside
// what the others hold: as many threads as the host has processors would otherwise load as many of the largest files at
// once, and the host would end the command.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace msrun {

class MemoryBudget {
 public:
  // The usual one is 80 % of what the host and its control groups have left, at least 64 MiB, as that of a run.
  MemoryBudget();
  explicit MemoryBudget(std::uint64_t bytes) : bytes_(bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // What a thread holds while this lives.
  class Share {
   public:
    Share(MemoryBudget& budget, std::uint64_t bytes) : budget_(budget), bytes_(bytes) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { budget_.give(bytes_); }

   private:
    MemoryBudget& budget_;
    const std::uint64_t bytes_;
  };

  // Waits until so many bytes fit, or, as more than the whole budget never do, until nobody else holds any. Who asked
  // first is served first, so that nobody waits forever for a large share. A thread that holds a share may not ask for
  // another one.
  Share take(std::uint64_t bytes);

 private:
  void give(std::uint64_t bytes);

  const std::uint64_t bytes_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::uint64_t used_ = 0;
  std::uint64_t asked_ = 0;   // how many have asked
  std::uint64_t served_ = 0;  // how many of them have their share
};

}  // namespace msrun
