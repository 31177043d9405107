// How the programs end.
#pragma once

namespace msrun {

// Exit codes of msrun and its tools.
enum ExitCode : int {
  exit_completed = 0,   // whatever the verdicts
  exit_fail_on = 1,     // completed, but --fail-on is met or not a single call was checked
  exit_usage = 2,       // usage, or input that cannot be used
  exit_incomplete = 3,  // interrupted, or results could not be written; a pre-check can be continued
  exit_internal = 4,    // our own error
};

}  // namespace msrun
