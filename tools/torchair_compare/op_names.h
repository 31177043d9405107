// Which operators of a graph a dumped operator consists of: itself, or those that were fused into it, whose names its
// own is made of (torchair.md 7.3).
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "kernels/io/graph_engine/ge_graph.h"

namespace msrun::torchair {

class OpNames {
 public:
  // graph must outlive this.
  explicit OpNames(const GeGraph& graph);

  // Names under which operators were dumped; they end a search for the next operator of a fused name. The texts must
  // outlive the next call of clear_dumped.
  void add_dumped(std::string_view name);
  void clear_dumped();

  // Places in graph.ops, in the order of the name.
  std::vector<std::size_t> split(std::string_view name) const;

 private:
  const GeGraph& graph_;
  std::unordered_map<std::string_view, std::size_t> places_;
  std::unordered_set<std::string_view> dumped_;
  std::vector<bool> lengths_;         // that some operator of the graph has
  std::vector<bool> dumped_lengths_;  // that some dumped name has
};

}  // namespace msrun::torchair
