// Which calls let NaN and infinities in or bring them about (graph_visualization.md 10).
#pragma once

#include <string_view>

#include "kernels/io/json/json_tree.h"
#include "tools/graph/side.h"

namespace msrun::graph {

// The level of a call by its entry in dump.json.
Overflow overflow_of(std::string_view name, const JsonNode& entry);

// "medium", "high", "critical"; empty for none.
std::string_view overflow_text(Overflow level);

}  // namespace msrun::graph
