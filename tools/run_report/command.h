// msrun report: finds the journal of a run and writes its report.
#pragma once

#include "tools/run_report/options.h"

namespace msrun::run_report {

// The exit code. Throws UserError.
int run(const Options& options);

}  // namespace msrun::run_report
