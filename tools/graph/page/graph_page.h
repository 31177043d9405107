// The page on which people look at the graph of a model, or at two graphs side by side: one HTML file that needs
// neither network nor server. What it shows is described here as plain data, apart from the model that graph builds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/io/files/folder.h"

namespace msrun::graph {

enum class PageNodeKind : std::uint8_t { module, api, collection };

enum class PageOverflow : std::uint8_t { none, medium, high, critical };

// What a verdict is called, and how it looks.
struct PageLevel {
  std::string name;         // "error"
  std::string meaning;      // "relative error of the outputs from 80 % to 100 %"
  std::uint8_t heat = 0;    // 0 (good) to 4 (worst): the shade
  bool suspicious = false;  // whether the jump to the next suspicious node stops at such nodes
};

inline constexpr std::uint8_t no_level = 255;

// A node of one tree. Indices are those of PageTree::nodes.
struct PageNode {
  std::string name;  // the full one, such as "Functional.gelu.1.forward"
  PageNodeKind kind = PageNodeKind::module;
  std::vector<std::uint32_t> children;    // in order of execution
  std::optional<std::uint32_t> partner;   // the matched node of the other tree, which has a partner, too
  std::uint8_t level = no_level;          // index in GraphPage::levels; no_level where nothing was compared
  std::optional<double> precision_index;  // as the viewer of .vis files has it
  PageOverflow overflow = PageOverflow::none;
  std::int32_t micro_step = -1;  // negative: that of its parent
};

// An argument, a parameter, a gradient or a result.
struct PageParameter {
  std::string name;  // "input.0", or the full one of the file; a beginning that is the node's name is not shown
  std::vector<std::pair<std::string, std::string>> values;  // by field, "shape" or "Max diff", ordered as shown
  std::uint8_t level = no_level;
};

// What the panel shows of a node. The parameters of matched nodes are paired by position, inputs and outputs apart.
struct PageDetails {
  std::vector<PageParameter> inputs;
  std::vector<PageParameter> outputs;
  std::vector<std::pair<std::string, std::string>> facts;  // further lines, such as communication partners
  std::vector<std::pair<std::string, std::string>> suggestions;
  std::vector<std::string> stack;  // frames, the innermost first
};

struct PageTree {
  std::string title;            // where it was recorded
  std::vector<PageNode> nodes;  // node 0 is the root, from which every other is reached exactly once
  // Details of a node by its index. Called once for each node while the page is written, so that texts of large graphs
  // need not all be in memory. It must be set.
  std::function<PageDetails(std::uint32_t)> details;
};

// A value that compares the two sides, and stands among those of the target's parameter.
struct PageMetric {
  std::string name;     // "Max diff"
  std::string meaning;  // shown when the pointer rests on it
  // The values that it compares, and how: it is shown beside them in a column of that name. Empty: in a line of its
  // own.
  std::string field;   // "Max"
  std::string column;  // "difference"
};

struct GraphPage {
  std::string title;
  std::vector<std::string> lines;                          // small lines below the title: paths, options
  std::vector<std::pair<std::string, std::string>> facts;  // cards: a name and its value
  std::vector<PageLevel> levels;                           // the best first; at most 250
  std::vector<PageMetric> metrics;                         // in the order of their columns
  PageTree target;
  std::optional<PageTree> bench;  // without it the page shows one graph, and nothing is unmatched
};

// Writes the page; the file at path is replaced by the whole page or not at all. Texts may hold anything; bytes that
// are not UTF-8 become U+FFFD. Throws WriteError, and std::logic_error where a tree or a partner is not as described.
void write_graph_page(const std::string& path, const GraphPage& page);
// A file of that name in the folder.
void write_graph_page(const Folder& folder, const std::string& name, const GraphPage& page);

}  // namespace msrun::graph
