// The text that --help prints, laid out alike for every command.
#pragma once

#include <string>

#include "kernels/base/command_line/option.h"

namespace msrun {

// Lines of at most 120 columns: summary, usage, sections, options by group, note, exit codes.
std::string help_text(const CommandDescription& command);

// "tensor_compare 0.2.0": the program, without the name of a command, and the version of the project.
std::string version_text(const CommandDescription& command);

}  // namespace msrun
