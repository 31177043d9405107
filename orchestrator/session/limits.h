// What a run may take of the host, and what it is told about devices, threads and input data.
#pragma once

#include <cstdint>
#include <vector>

#include "orchestrator/command/command_line.h"
#include "orchestrator/session/job.h"

namespace msrun {

// Bytes that all calls in flight may take together.
std::uint64_t memory_budget(const MemoryLimit& limit);

// Threads of each device, in the order of options.devices: spread evenly, one to eight each.
std::vector<std::size_t> spread_threads(const Options& options);

// What results of this backend tell about.
TestedOn tested_on(const Backend& backend);

// What the command line says about devices, threads, limits and input data.
SupervisorOptions supervisor_options(const SessionState& session);

}  // namespace msrun
