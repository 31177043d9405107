// msrun report: finds a run and writes its report: from its journal, or from its CSVs where they are all there is.
#pragma once

#include "tools/run_report/options.h"

namespace msrun::run_report {

// The exit code. Throws UserError.
int run(const Options& options);

}  // namespace msrun::run_report
