// The hierarchy of modules and calls of one rank (graph_visualization.md 4 and 5).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/graph/side.h"

namespace msrun::graph {

enum class NodeType : std::uint8_t { module = 0, api = 1, collection = 9 };

struct Node {
  std::string_view name;  // lives as long as the Side and the Tree
  NodeType type = NodeType::module;
  std::uint32_t parent = no_index;  // no_index: the root
  std::uint32_t entry = no_index;   // in Side::entries; no_index: no data
  std::uint32_t stack = 0;          // in Side::stacks
  bool lost_stack = false;          // a backward node without a forward one: a sentence stands for its stack
  std::int64_t recorded_micro_step = 0;
  std::vector<std::uint32_t> children;  // in order of execution
};

// Node 0 is the root; nodes are in order of their first mention, collections last.
struct Tree {
  std::vector<Node> nodes;
  std::vector<std::uint32_t> preorder;   // parents before their children
  std::vector<std::uint32_t> postorder;  // children before their parents, in the order in which a walk leaves them
  std::vector<std::string> made_names;   // of nodes that no file names
  std::unordered_map<std::string_view, std::uint32_t> node_of;

  // no_index if there is none.
  std::uint32_t find(std::string_view name) const;
  // Names from the root to the node, which stands last.
  std::vector<std::uint32_t> path(std::uint32_t node) const;
};

// compat: without the repairs of backward parents and of gradients of parameters. The side's texts must not change
// while the tree is used.
Tree build_tree(const Side& side, bool compat, const Warn& warn);

// The parent of every line of construct.json, 0 for the root, with those of backward nodes repaired. texts of names
// that the file lacks are never given.
std::vector<TextId> repaired_parents(const Side& side, bool compat);

// "Linear.forward" of a module's name ends with the number of the call behind one more dot; false for APIs.
bool is_module_direction(std::string_view name, std::string_view direction);

// The lines of a node's stack as they are shown: complete, or the one line that names where in the model it is.
Stack shown_stack(const Side& side, const Node& node, bool complete);

inline constexpr std::string_view lost_stack_text =
    "This backward node cannot find the forward node and cannot retrieve stack information.";

}  // namespace msrun::graph
