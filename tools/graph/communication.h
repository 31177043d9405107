// Which calls of the ranks of one step communicate with each other (graph_visualization.md 9).
#pragma once

#include <vector>

#include "tools/graph/rank_graph.h"

namespace msrun::graph {

// Fills the links of all graphs of the ranks, which are those of one step.
void link_ranks(const std::vector<RankGraph*>& ranks, const Warn& warn);

}  // namespace msrun::graph
