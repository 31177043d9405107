// --last-failed: the calls that the last run found wrong or could not run.
#pragma once

#include "orchestrator/command/command_line.h"

namespace msrun {

// Puts the calls that are suspicious or failed to run, by the newest journal in the folder of the results, in the place
// of --only, of whose calls they stay. Empty if there is none. Throws UserError if there is no such journal.
void select_last_failed(Options& options);

}  // namespace msrun
