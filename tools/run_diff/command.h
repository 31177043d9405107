// run_diff: two runs, and what has changed between them.
#pragma once

#include "tools/run_diff/options.h"

namespace msrun::run_diff {

// Prints the text to stdout and writes the files that are asked for; returns the exit code. Throws UserError for runs
// that cannot be read and files that cannot be written.
int run(const Options& options);

}  // namespace msrun::run_diff
