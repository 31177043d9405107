// run_bisect: which version made a call wrong.
#pragma once

#include "tools/run_bisect/options.h"

namespace msrun::run_bisect {

// Prints what is tried and found to stdout, line by line; returns the exit code. Throws UserError.
int run(const Options& options);

}  // namespace msrun::run_bisect
