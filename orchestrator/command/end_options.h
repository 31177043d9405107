// The options about where a run begins and ends within its calls, and what else is told of them.
#pragma once

#include "orchestrator/command/command_line.h"

namespace msrun {

// --last-failed, --max-failures, --dry-run, --junit, --junit-status, --durations. Throws UserError.
void set_ends(const Arguments& arguments, Options& options);

}  // namespace msrun
