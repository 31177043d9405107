// The file .vis: JSON that the older viewers open (graph_visualization.md 11.2).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tools/graph/captions.h"
#include "tools/graph/rank_graph.h"
#include "tools/graph/text.h"

namespace msrun::graph {

struct FileOptions {
  bool overflow = false;
  bool complete_stacks = false;
  Language language = Language::english;
};

// Hands the file to write piece by piece. rank.vis must be there.
void write_vis(const RankGraph& rank, const FileOptions& options, const std::function<void(std::string_view)>& write);

// The partners of a call as JSON.
void append_links(std::string& out, const Links& links, const JsonStyle& style, int depth);

}  // namespace msrun::graph
