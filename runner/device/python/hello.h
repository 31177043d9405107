// What a worker says of itself before it takes calls: versions, settings that change results, devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/device/python/worker_process.h"

namespace msrun {

struct ListedDevice {
  std::int32_t id = 0;
  std::string name;
  std::optional<std::uint64_t> memory;  // bytes
  std::optional<std::uint64_t> free;    // bytes of them that nobody uses
};

struct Hello {
  // In the worker's order: "torch" or "mindspore", "torch_npu", "cann", "soc", "cuda"...
  std::vector<std::pair<std::string, std::string>> versions;
  // "matmul.allow_hf32" and "false".
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<ListedDevice> devices;  // of an inspection
  std::string python;                 // version of the interpreter
};

// Throws UserError, one line that says what to do, where the framework cannot be imported, where the device cannot be
// used, and where text is nothing that a worker of this version says.
Hello parse_hello(std::string_view text, const WorkerOptions& options);

// Waits at most `patience` seconds for a worker to say it: many that import a framework from a slow disk at once take
// half a minute. Throws UserError as well if it ends before, or does not say it in time.
Hello await_hello(WorkerProcess& worker, const WorkerOptions& options, double patience = 600);

}  // namespace msrun
