// Two trees side by side as one list of rows: matched nodes whose parents are in one row are in one row, too.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/graph/page/graph_page.h"

namespace msrun::graph {

inline constexpr std::uint32_t no_node = 0xFFFFFFFF;

// A node of either tree or of both; no_node where the other side has none at this place. Rows are in pre-order, and so
// are the nodes of either side.
struct PageRow {
  std::uint32_t target = no_node;
  std::uint32_t bench = no_node;
  std::uint32_t depth = 0;
};

// Matched children of one pair of parents share rows as far as their order allows it, most of them; all others have
// rows of their own, those of the target first. Throws std::logic_error where the trees are not as described.
std::vector<PageRow> page_rows(const PageTree& target, const PageTree* bench);

}  // namespace msrun::graph
