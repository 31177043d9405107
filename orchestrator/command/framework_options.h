// What a command line says of the recording's framework: its name before the command, and options that only recordings
// of some frameworks heed.
#pragma once

#include <string>
#include <vector>

#include "kernels/base/command_line/arguments.h"

namespace msrun {

// Takes a leading "-f pytorch" off the words and returns the name in lower case; empty if there is none. Throws
// UserError for a name that is none of a framework.
std::string take_framework(std::vector<std::string>& words);

// The options that were given and that some dialect does not heed (Dialect::unheeded_options).
std::vector<std::string> given_for_some(const Arguments& arguments);

}  // namespace msrun
