// A rank's graph in the form in which the page shows it.
#pragma once

#include "tools/graph/page/graph_page.h"
#include "tools/graph/rank_graph.h"

namespace msrun::graph {

// By the verdicts of .vis.db, which must be there, with the index of .vis where that is there too. The page refers to
// rank, which must outlive it.
GraphPage page_of(const RankGraph& rank, bool overflow);

}  // namespace msrun::graph
