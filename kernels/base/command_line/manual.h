// The manual page of a command, made of the description that its help is made of (option.h).
#pragma once

#include <string>

#include "kernels/base/command_line/option.h"

namespace msrun {

// For man(1), in section 1: name, synopsis, what stands before the options in the help, options, exit status.
std::string manual_page(const CommandDescription& command);

}  // namespace msrun
