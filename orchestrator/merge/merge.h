// `msrun merge PATH...`: one run of those that checked a part of a recording each.
#pragma once

#include "orchestrator/command/merge_options.h"

namespace msrun {

// Writes the CSVs and the journal of the whole and says what came from where, what is missing and how to get it, and
// where parts disagree. Returns the exit code, also where results cannot be written, which is told on stderr. Throws
// UserError and journal::Error. Without the whole run no journal of it is left behind.
int merge_journals(const MergeOptions& options);

}  // namespace msrun
