// What frameworks and devices this host has, asked before a run begins.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/device/python/hello.h"

namespace msrun {

// A worker that only says what there is; it imports its framework while whoever made this does something else. Where
// that can be it goes on as the process that forks the workers of the runners, and ends with this object.
class WorkerProbe {
 public:
  // device_id: whose settings are asked for. Throws std::system_error, UserError.
  WorkerProbe(WorkerOptions options, std::int32_t device_id);

  // Waits, once. Throws UserError, see await_hello.
  Hello wait();
  const WorkerOptions& options() const { return options_; }
  // For WorkerProcess::Start.
  int forks() const { return WorkerProcess::can_fork(options_) ? process_.control() : -1; }

 private:
  WorkerOptions options_;
  WorkerProcess process_;
};

// Throws UserError if a device of that id is not there. CPUs have every id.
void require_devices(const Hello& hello, const WorkerOptions& options, const std::vector<int>& ids);

// The accelerator whose driver this host has, by the files it makes: "npu", "cuda"; empty if there is none.
// device_files is the folder that they are in.
std::string_view accelerator_of_host(const std::string& device_files = "/dev");

// Whether the interpreter finds the packages that the kind needs, without importing them; a fraction of a second.
bool finds_packages(const std::string& python, const WorkerFramework& framework, std::string_view kind);

}  // namespace msrun
