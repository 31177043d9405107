// The whole comparison, from options to exit code.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "tools/dump_compare/options.h"

namespace msrun::dump_compare {

// Results go to files and, in a few lines, to out; warn gets one line at a time. Returns an exit code of
// kernels/base/exit_code.h. Throws UserError for what the user can mend; of several ranks the failure of one is told
// through warn, the others are compared, and the code is exit_usage; it is thrown only if none could be compared.
int compare_dumps(const Options& options, std::ostream& out, const std::function<void(const std::string&)>& warn);

}  // namespace msrun::dump_compare
