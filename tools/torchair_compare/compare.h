// The whole comparison, from options to exit code: ranks, graphs and tokens are paired, their operators compared on all
// processors, and one report written for each rank (torchair.md 1, 7 and 11).
#pragma once

#include <iosfwd>

#include "tools/torchair_compare/messages.h"
#include "tools/torchair_compare/options.h"

namespace msrun::torchair {

// Returns an exit code of kernels/exit_code.h. A closing summary of each rank goes to out. Throws UserError for what
// the user can mend; with several ranks the failure of one is told after the others are done.
int compare_dumps(const Options& options, Messages& messages, std::ostream& out);

}  // namespace msrun::torchair
