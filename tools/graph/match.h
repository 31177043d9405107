// Which nodes of two trees are the same, and which micro step each belongs to (graph_visualization.md 4.7 and 7.1-7.3).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/graph/tree.h"

namespace msrun::graph {

// A tree with what it was built from.
struct View {
  const Side& side;
  const Tree& tree;

  const Entry* entry(std::uint32_t node) const {
    const std::uint32_t at = tree.nodes[node].entry;
    return at == no_index ? nullptr : &side.entries[at];
  }
};

// Name of an NPU call -> name of a Bench call, empty where it has none.
using NameMap = std::unordered_map<std::string, std::string>;

struct Matching {
  bool fuzzy = false;
  const NameMap* mapping = nullptr;  // not used with fuzzy
};

struct Matches {
  std::vector<std::uint32_t> bench_of;  // for each NPU node; no_index: unmatched
  std::vector<std::uint32_t> npu_of;    // for each Bench node
};

Matches match(const View& npu, const View& bench, Dialect dialect, const Matching& how);

struct MicroSteps {
  std::int64_t count = 1;
  std::vector<std::int64_t> of;  // for each node, that of its parent included
};

MicroSteps micro_steps(const View& npu);
// The micro steps of the benchmark's nodes: those of the nodes they match.
std::vector<std::int64_t> bench_micro_steps(const View& bench, const Matches& matches, const MicroSteps& npu);

// Whether two recorded values, each of its side, are the same text or number.
bool same_value(const Side& mine, const Value& value, const Side& theirs, const Value& other);

}  // namespace msrun::graph
