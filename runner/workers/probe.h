// What frameworks and devices this host has, asked before a run begins.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/workers/hello.h"

namespace msrun {

// A worker that only says what there is; it imports its framework while whoever made this does something else. Where
// that can be it goes on as the process that forks the workers of the runners, and ends with this object; it is not
// needed where this process was told of one that is shared (shared_forks.h).
class WorkerProbe {
 public:
  // device_id: whose settings are asked for. Throws std::system_error, UserError.
  WorkerProbe(WorkerOptions options, std::int32_t device_id);

  // Waits, once. A process that stays stopped is replaced. Throws UserError, see await_hello.
  Hello wait(int silence = silence_of_workers);
  const WorkerOptions& options() const { return options_; }
  // For WorkerProcess::Start.
  ForkServer forks() const;

 private:
  void start();

  WorkerOptions options_;
  std::int32_t device_id_;
  std::optional<ForkServer> shared_;      // the process that forks is that of others
  std::optional<WorkerProcess> process_;  // or this
  UniqueFd answer_;                       // of the one that forks
};

// Throws UserError if a device of that id is not there. CPUs have every id.
void require_devices(const Hello& hello, const WorkerOptions& options, const std::vector<int>& ids);

// The accelerator whose driver this host has, by the files it makes: "npu", "cuda"; empty if there is none.
// device_files is the folder that they are in.
std::string_view accelerator_of_host(const std::string& device_files = "/dev");

// Whether the interpreter finds the packages that the kind needs, without importing them; a fraction of a second.
bool finds_packages(const std::string& python, const WorkerFramework& framework, std::string_view kind);

}  // namespace msrun
