// What the line on the console says of two graphs, which is what their page shows: how many nodes match, and the worst.
#pragma once

#include <string>

#include "tools/graph/rank_graph.h"

namespace msrun::graph {

// The graph of which the console and the page tell: that of .vis.db, whose verdicts the page has, if there is one.
const DialectGraph& told_graph(const RankGraph& rank);

// ", 86 matched with 88 of the benchmark, worst Functional.softmax.1.forward (error)".
std::string comparison_text(const RankGraph& rank);

}  // namespace msrun::graph
