// What a worker says of itself before it takes calls: versions, settings that change results, devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/unique_fd.h"
#include "runner/workers/worker_process.h"

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

// How long is waited, in seconds.
struct Patience {
  // Many workers that import a framework from a slow disk at once take half a minute.
  double hello = 600;
  // After that a line on standard error says what is waited for.
  double silent = 20;
  // A process that is stopped for so long is killed.
  int stopped = silence_of_workers;
};

// Waits for a worker to say it. Throws UserError as well if it ends before, or does not say it in time.
Hello await_hello(WorkerProcess& worker, const WorkerOptions& options, const Patience& patience = {});

// Asks the process that forks workers, control() or what SharedForks has of it, to inspect the host, with the settings
// of the device of that id. Returns where the answer will come; no descriptor if nobody is there.
UniqueFd ask_for_hello(int forks, std::int32_t device_id);

struct HelloAnswer {
  std::optional<Hello> hello;  // nothing if whoever was asked ends before
  bool was_stopped = false;    // and was killed therefore
};

// Waits for that answer of the process `forks`. Throws UserError if it does not come in time, and as parse_hello does.
HelloAnswer answered_hello(const UniqueFd& answer, const WorkerOptions& options, pid_t forks,
                           const Patience& patience = {});

// Throws UserError that says how the worker ended, which was to say what there is.
[[noreturn]] void refuse_ended(WorkerProcess& worker, const WorkerOptions& options);

}  // namespace msrun
