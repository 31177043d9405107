// The command from its options to its exit code: checks of the paths, the comparison, and what it prints.
#pragma once

#include <string>

#include "tools/api_precision_compare/comparison.h"
#include "tools/api_precision_compare/options.h"

namespace msrun::api_precision_compare {

// The closing table: verdicts per direction, the APIs that fail by most, and where the files are.
std::string summary_text(const Report& report);

// Throws UserError for what the user can mend.
int run(const Options& options);

}  // namespace msrun::api_precision_compare
