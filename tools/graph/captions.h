// Colours of verdicts and what the viewers say of metrics (graph_visualization.md 7.9 and 11.2).
#pragma once

#include <cstdint>
#include <string>

#include "tools/graph/verdict.h"

namespace msrun::graph {

enum class Language : std::uint8_t { english, chinese };

// A JSON object: metric -> explanation, as one line.
std::string tool_tips(Mode mode, Language language);

// A JSON object: colour -> range and explanation. indented: for a .vis, where it is a member of the outermost object.
std::string colours(Dialect dialect, Mode mode, Language language, bool indented);

}  // namespace msrun::graph
