// The command from its options to its exit code.
#pragma once

#include "tools/op_generate/options.h"

namespace msrun::op_generate {

// Throws UserError for what the user can mend.
int run(const Options& options);

}  // namespace msrun::op_generate
