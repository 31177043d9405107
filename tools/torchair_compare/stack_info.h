// Where in the model's source the operators of a graph come from: the Python text of the graph that may lie beside its
// dump (torchair.md 9).
#pragma once

#include <string>
#include <unordered_map>

#include "tools/torchair_compare/dump_tree.h"

namespace msrun::torchair {

// Operator -> `File "...", line n, in f code`. Empty if there is no such text.
std::unordered_map<std::string, std::string> read_stack_info(const GraphFile& graph, Messages& messages);

}  // namespace msrun::torchair
