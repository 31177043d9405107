// `msrun --list-apis`: what can be checked, from the table of operators.
#pragma once

#include <string>

namespace msrun {

// One line per API, "Functional.relu  relu", grouped by namespace, and a closing line with the counts.
std::string list_apis_text();

}  // namespace msrun
