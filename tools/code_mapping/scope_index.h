// Which node of a graph a recorded operator is (op_generate_and_code_mapping.md B.3). The key of a node is its scope
// with '_' for every '/'; it belongs to an operator whose name it is, or in whose name it stands between characters
// that are neither letters nor digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/code_mapping/graph_text.h"

namespace msrun::code_mapping {

class ScopeIndex {
 public:
  // Parts of names that are longer than this, in bytes, are not looked for: to search them takes time, and no recorder
  // writes such names.
  static constexpr std::size_t longest_searched = 1024;

  // graph must outlive the index. Nodes whose key is empty or consists of digits alone are left out, and of those with
  // one key all but the last.
  explicit ScopeIndex(const Graph& graph);

  // The node whose key is the name, else that of the longest key that stands in it, the leftmost of several; null if
  // there is none. What is found for a name depends on it and the graph alone.
  const Node* find(std::string_view name);

 private:
  void add(const Node& node);
  const Node* search(std::string_view name) const;
  const Node* with_key(std::string_view key, std::uint64_t hash) const;

  std::unordered_multimap<std::uint64_t, const Node*> nodes_;  // by the hash of their keys
  std::vector<std::size_t> lengths_;                           // of keys, falling
  std::unordered_map<std::string, const Node*> found_;
};

}  // namespace msrun::code_mapping
