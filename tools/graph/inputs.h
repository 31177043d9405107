// The recordings that are to be shown, in folders of files, ranks or steps (graph_visualization.md 3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/graph/side.h"

namespace msrun::graph {

struct RankFolders {
  std::string step_name;  // as the folder is called; empty if there are none
  std::string rank_name;
  std::uint64_t step = 0;
  std::uint64_t rank = 0;
  std::string npu;
  std::string bench;  // empty: one graph
};

// By step and rank. allow_missing: what only one side has is left out, and warned of. Throws UserError with the
// documented words where a folder is not as it must be.
std::vector<RankFolders> find_ranks(const std::string& npu, const std::string& bench, bool allow_missing,
                                    const Warn& warn);

}  // namespace msrun::graph
