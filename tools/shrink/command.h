// shrink: from a suspicious call to the smallest recordings that fail for the same cause.
#pragma once

#include "tools/shrink/options.h"

namespace msrun::shrink {

// Prints what was found to stdout, progress and notes to stderr; returns the exit code. Throws UserError for input that
// cannot be used and output that cannot be written.
int run(const Options& options);

}  // namespace msrun::shrink
