// `msrun merge PATH...`: one run of those that checked a part of a recording each.
#pragma once

#include "orchestrator/command/merge_options.h"

namespace msrun {

// Writes the CSVs and the journal of the whole and says what came from where, what is missing and how to get it, and
// where parts disagree. Returns the exit code. Throws UserError, WriteError and journal::Error, leaving no file behind.
int merge_journals(const MergeOptions& options);

}  // namespace msrun
