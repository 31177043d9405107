// What torch and devices this host has, asked before a run begins.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/device/torch/hello.h"

namespace msrun {

// A worker that only says what there is; it imports torch while whoever made this does something else. Where that can
// be it goes on as the process that forks the workers of the runners, and ends with this object.
class TorchProbe {
 public:
  // device_id: whose settings are asked for. Throws std::system_error, UserError.
  TorchProbe(TorchOptions options, std::int32_t device_id);

  // Waits, once. Throws UserError, see await_hello.
  Hello wait();
  const TorchOptions& options() const { return options_; }
  // For WorkerProcess::Start.
  int forks() const { return WorkerProcess::can_fork(options_) ? process_.control() : -1; }

 private:
  TorchOptions options_;
  WorkerProcess process_;
};

// Throws UserError if a device of that id is not there. CPUs have every id.
void require_devices(const Hello& hello, const TorchOptions& options, const std::vector<int>& ids);

// The accelerator whose driver this host has, by the files it makes: "npu", "cuda"; empty if there is none.
// device_files is the folder that they are in.
std::string_view accelerator_of_host(const std::string& device_files = "/dev");

// Whether the interpreter finds the packages that the kind needs, without importing them; a fraction of a second.
bool finds_packages(const std::string& python, std::string_view kind);

}  // namespace msrun
