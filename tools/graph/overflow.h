// Which calls let NaN and infinities in or bring them about (graph_visualization.md 10).
#pragma once

#include <string_view>

#include "kernels/io/json/json_tree.h"
#include "tools/graph/side.h"

namespace msrun::graph {

// The level of a call by its entry in dump.json. compat: as msprobe 1.2.1 gives it.
Overflow overflow_of(std::string_view name, const JsonNode& entry, bool compat);

// "medium", "high", "critical"; empty for none.
std::string_view overflow_text(Overflow level);

}  // namespace msrun::graph
