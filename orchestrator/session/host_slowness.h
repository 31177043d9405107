// How fast this host checks calls, for the forecast of --dry-run.
#pragma once

#include <cstddef>

#include "orchestrator/plan/forecast.h"

namespace msrun {

// Checks a few small calls of each kind on the simulated device, on as many threads at a time as a run would compute
// on, because processors share clock, caches and memory. Takes some fifty milliseconds on the machine that the prices
// were fitted on.
HostSlowness measured_slowness(std::size_t threads);

}  // namespace msrun
