// The options of the pre-check and of run_overflow_check, and the text of msrun --help, as data. What the values mean
// is in command_line.cpp.
#pragma once

#include "kernels/base/command_line/option.h"
#include "orchestrator/command/command_line.h"

namespace msrun {

CommandDescription check_description(Command command);

}  // namespace msrun
