// One process that forks the workers of many runs: a tool that starts msrun hundreds of times has the framework
// imported once. A run is told of it by a variable of its environment, which names the descriptor to ask on and what it
// forks.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runner/workers/worker_process.h"

namespace msrun {

class SharedForks {
 public:
  // Starts it; what it and its workers print goes to the descriptor `output`. Nothing where such workers cannot be
  // forked (WorkerProcess::can_fork). Throws std::system_error, UserError.
  static std::unique_ptr<SharedForks> start(const WorkerOptions& options, int output);

  // What a run needs: this descriptor, open under this number, and this in its environment, "NAME=value".
  int descriptor() const { return process_.control(); }
  std::string variable() const;

 private:
  SharedForks(WorkerOptions options, int output);

  WorkerOptions options_;
  WorkerProcess process_;
};

// A process that forks what these options ask for, if this process was told of one. No program that it starts inherits
// the descriptor.
std::optional<ForkServer> shared_forks(const WorkerOptions& options);

}  // namespace msrun
