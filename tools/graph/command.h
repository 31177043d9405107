// Graphs of recorded models: reading, building, comparing and writing all ranks and steps.
#pragma once

#include <ostream>

#include "tools/graph/options.h"
#include "tools/graph/side.h"

namespace msrun::graph {

// Prints a line for every file and rank; returns the exit code. Throws UserError for input and output that cannot be
// used; what concerns one rank of several is warned of.
int run(const Options& options, std::ostream& out, const Warn& warn);

}  // namespace msrun::graph
