// The command from its options to its exit code.
#pragma once

#include "tools/code_mapping/options.h"

namespace msrun::code_mapping {

// Throws UserError for what the user can mend.
int run(const Options& options);

}  // namespace msrun::code_mapping
