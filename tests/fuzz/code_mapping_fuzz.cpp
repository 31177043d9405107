// Any bytes as the text of a static graph: nodes, of which each is found by its own key, and a table of statistics,
// whose columns are added once.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "kernels/base/error.h"
#include "tests/fuzz/target.h"
#include "tools/code_mapping/scope_index.h"
#include "tools/code_mapping/statistic_table.h"

FUZZ_TARGET(code_mapping_fuzz) {
  using namespace msrun;
  using namespace msrun::code_mapping;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Graph graph{std::string(text)};
  ScopeIndex index(graph);
  for (const Node& node : graph.nodes()) {
    if (graph.code_stack(node).size() > size) std::abort();
    std::string key(node.scope);
    for (char& c : key) c = c == '/' ? '_' : c;
    const Node* found = index.find(key);
    const bool has_key = key.find_first_not_of("0123456789") != std::string::npos;
    if (has_key && found == nullptr) std::abort();
    if (found != nullptr && found->scope.size() != key.size() && has_key) std::abort();
  }
  try {
    const StatisticTable table = with_source_lines(text, graph, index);
    const StatisticTable again = with_source_lines(table.text, graph, index);
    if (again.text != table.text || again.rows != table.rows) std::abort();
  } catch (const UserError&) {
  }
  return 0;
}
