// What the lines about a run's progress are made of.
#pragma once

#include <string>

#include "orchestrator/view/progress_view.h"

namespace msrun {

// "pass 240, warning 5, error 3, SKIP 2, suspicious 8, failed to run 1"; suspicious only if there is a warning or an
// error, the last only if there are any.
std::string counts_text(const VerdictCounts& counts, const char* separator);

}  // namespace msrun
