// The converter as a whole: looks at the tree, has quiet files converted by several threads, reports, and ends.
#pragma once

#include <atomic>

#include "tools/torchair_convert/command_line.h"

namespace msrun::convert {

// Returns the exit code (kernels/exit_code.h). stop may become true at any time: what is begun is finished, then this
// returns. Throws UserError if the directory cannot be used or another converter is at it.
int run(const Options& options, const std::atomic<bool>& stop);

}  // namespace msrun::convert
