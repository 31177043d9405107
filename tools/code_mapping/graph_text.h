// The text of a compiled static graph (MindSpore's .ir files) as far as it relates nodes to source lines: of every node
// its scope and its code stack (op_generate_and_code_mapping.md B.2).
//
// Nothing but lines is looked at: brackets are not counted, so that neither strings nor comments nor a file that was
// cut off can derail the reader, and a node is its line, so that equal numbers and names in several subgraphs are
// several nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace msrun::code_mapping {

struct Node {
  std::string_view scope;      // "Default/network/fc1-Dense/MatMul-op1"; nodes without one are left out
  std::size_t first_line = 0;  // of its code stack among the lines of the graph
  std::size_t lines = 0;
};

class Graph {
 public:
  // Takes the text over. Any bytes are a graph: what is no node is passed over.
  explicit Graph(std::string text);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // In the order of the text, with the stacks of the nodes whose gradients they compute, where these are known.
  std::span<const Node> nodes() const { return nodes_; }
  // The source lines of the stack, joined by line feeds.
  std::string code_stack(const Node& node) const;

 private:
  friend class GraphReader;

  std::string text_;
  std::vector<Node> nodes_;
  std::vector<std::string_view> lines_;
};

}  // namespace msrun::code_mapping
