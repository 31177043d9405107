// `msrun --list-apis`: what can be checked, from the table of operators.
#pragma once

#include <string>

namespace msrun {

// One line per API, "Functional.relu  relu", grouped by namespace, and closing lines with the counts and with what is
// covered of the inventory.
std::string list_apis_text();

}  // namespace msrun
