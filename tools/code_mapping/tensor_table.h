// The table of tensor files and their source lines (op_generate_and_code_mapping.md B.4).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/code_mapping/scope_index.h"

namespace msrun::code_mapping {

struct TensorTable {
  std::string path;
  std::size_t mapped = 0;  // files whose operator is in the graph
};

// Writes code_mapping_<time>.csv, a row for every file in the order given, into the directory, which is made if it is
// missing. Files whose name says no operator have a row with empty cells, and warn is told a sentence. Throws UserError
// for a folder with aliases but without a mapping.csv that could be read.
TensorTable write_tensor_table(const std::vector<std::string>& files, const Graph& graph, ScopeIndex& index,
                               const std::string& directory, const std::function<void(const std::string&)>& warn);

}  // namespace msrun::code_mapping
