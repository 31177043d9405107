// What is written about a node, in both forms of output.
#pragma once

#include <string>
#include <string_view>

#include "tools/code_mapping/graph_text.h"

namespace msrun::code_mapping {

inline constexpr std::string_view code_stack_title = "Code Stack";
inline constexpr std::string_view scope_name_title = "Scope Name";

// A cell of text that others have chosen. It stays as it is, for source lines and paths are looked up, but for a "'" in
// front of what a spreadsheet would run as a formula.
std::string foreign_cell(std::string_view text);

// Such cells, empty for null. What is no UTF-8 becomes U+FFFD, and control characters but tabs and line feeds '_'.
std::string code_stack_cell(const Graph& graph, const Node* node);
std::string scope_name_cell(const Node* node);

}  // namespace msrun::code_mapping
