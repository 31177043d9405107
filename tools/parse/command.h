// parse: files of tensors to .npy, and a table of what is in them.
#pragma once

#include "tools/parse/options.h"

namespace msrun::parse {

// Prints the table to stdout; returns the exit code. Throws UserError for input and output that cannot be used.
int run(const Options& options, bool on_terminal);

}  // namespace msrun::parse
