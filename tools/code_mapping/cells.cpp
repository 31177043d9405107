#include "tools/code_mapping/cells.h"

#include <algorithm>

#include "kernels/base/text.h"
#include "kernels/io/files/csv.h"

namespace msrun::code_mapping {

namespace {

// Tabs indent source lines.
std::string clean(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t tab = std::min(text.find('\t'), text.size());
    result += readable(std::string(text.substr(0, tab)));
    if (tab == text.size()) break;
    result += '\t';
    text.remove_prefix(tab + 1);
  }
  return result;
}

}  // namespace

std::string foreign_cell(std::string_view text) {
  std::string result;
  append_csv_field(result, marked_as_text(text));
  return result;
}

std::string code_stack_cell(const Graph& graph, const Node* node) {
  return node == nullptr ? std::string() : foreign_cell(clean(graph.code_stack(*node)));
}

std::string scope_name_cell(const Node* node) {
  return node == nullptr ? std::string() : foreign_cell(clean(node->scope));
}

}  // namespace msrun::code_mapping
