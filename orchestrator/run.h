// A whole run of the pre-check, from options to exit code: plan, journal, devices, supervision, CSVs, closing table.
#pragma once

#include "orchestrator/command_line.h"

namespace msrun {

// Exit codes of msrun and its tools.
enum ExitCode : int {
  exit_completed = 0,   // whatever the verdicts
  exit_fail_on = 1,     // completed, and --fail-on is met
  exit_usage = 2,       // usage, or input that cannot be used
  exit_incomplete = 3,  // interrupted or stopped early; can be resumed
  exit_internal = 4,    // our own error
};

// Throws UserError for what the user can mend.
int run_check(const Options& options);

}  // namespace msrun
