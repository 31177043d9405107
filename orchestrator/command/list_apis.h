// `msrun --list-apis`: what can be checked, from the table of operators.
#pragma once

#include <string>

namespace msrun {

// One line per API, "Functional.relu  relu", grouped by namespace, and closing lines with the counts and with what is
// covered of the inventory.
std::string list_apis_text();

// One JSON object: "apis", a list of {"name": "Functional.relu", "operator": "relu"} in the same order, with
// "skipped": true where every call is a SKIP; "operators", their number; "names", the number of names by namespace;
// "inventory", what is covered of it.
std::string list_apis_json();

}  // namespace msrun
