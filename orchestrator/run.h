// A whole run of the pre-check, from options to exit code: plan, journal, devices, supervision, CSVs, closing table.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kernels/base/exit_code.h"
#include "orchestrator/command/command_line.h"
#include "orchestrator/supervisor.h"
#include "orchestrator/view/status.h"
#include "runner/device/device.h"

namespace msrun {

// Throws UserError for what the user can mend.
int run_check(const Options& options);

// The parts of a run that run_overflow_check shares.

struct Backend {
  std::string name;
  std::function<std::unique_ptr<Device>()> make_device;
};
// Throws UserError for a backend that is not part of this build.
Backend choose_backend(const Options& options);

// Bytes that all calls in flight may take together.
std::uint64_t memory_budget(const MemoryLimit& limit);

// What the command line says about devices, threads, limits and input data.
SupervisorOptions supervisor_options(const Options& options, const Backend& backend, const Plan& plan);

// The closing event, without costs and resume command. elapsed is in seconds.
RunFinished run_finished(const ResultStore& results, const Plan& plan, bool complete, int exit_code, double elapsed);

}  // namespace msrun
