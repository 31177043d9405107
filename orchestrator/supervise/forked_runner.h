// The process of a runner: a fork of this one that dies with it, and the descriptor that tells of its end. Passive:
// when it is started, killed and reaped is for others to say.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "kernels/base/unique_fd.h"

namespace msrun {

class ForkedRunner {
 public:
  ForkedRunner() = default;
  // Kills and reaps a process that still runs.
  ~ForkedRunner();
  ForkedRunner(const ForkedRunner&) = delete;
  ForkedRunner& operator=(const ForkedRunner&) = delete;

  // Forks. The child is called "msrun-dev3" after its device, runs body and ends with exit code 0, or 4 after a message
  // on stderr if body throws. Not while a process runs. Throws std::system_error.
  void start(int device, const std::function<void()>& body);
  bool running() const { return pid_ > 0; }

  // Can be read once the process has ended; open from start() until the next one.
  int end_descriptor() const { return pidfd_.get(); }

  void kill() const;
  // The wait status of a process that has ended by itself or by kill(), as of a killed one if it cannot be had; nothing
  // while it runs.
  std::optional<int> reap();
  // Kills a process that runs, and waits for its end.
  void end_now();

  // Resident bytes of the largest of its processes that were reaped by reap().
  std::uint64_t peak() const { return peak_; }

 private:
  pid_t pid_ = -1;
  UniqueFd pidfd_;
  std::uint64_t peak_ = 0;
};

}  // namespace msrun
