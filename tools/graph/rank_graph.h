// Everything that is known of one rank: both recordings, their trees, and what their comparison gave by the rules of
// either file format. The files and the page are written from it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/graph/verdict.h"

namespace msrun::graph {

// The calls of other ranks that a call communicates with.
struct Link {
  std::string type;  // "send", "receive", "send_receive"
  struct Partner {
    std::uint64_t rank = 0;
    std::string index;  // of the partner: its overflow level or precision index; "Nan" if it has neither
    std::string name;
  };
  std::vector<Partner> partners;
};
struct Links {
  bool list = false;  // shown as a list: the call is several operations
  std::vector<Link> links;
};
// By the place of the call in Side::entries.
using LinkMap = std::unordered_map<std::uint32_t, Links>;

// One recording in one dialect.
struct SideGraph {
  Tree tree;
  std::vector<std::int64_t> micro_steps;
  LinkMap links;
};

// Both recordings in one dialect.
struct DialectGraph {
  Rules rules;
  SideGraph npu;
  std::optional<SideGraph> bench;
  Matches matches;             // empty without a benchmark
  std::vector<Index> indices;  // of the NPU nodes
  std::int64_t micro_step_count = 1;
};

struct RankGraph {
  std::string step_name;  // of the folder, "step0"; empty if there are no folders of steps
  std::string rank_name;
  std::uint64_t step = 0;
  std::uint64_t rank = 0;
  Side npu;
  std::optional<Side> bench;
  Mode mode = Mode::summary;
  TensorResults tensors;
  TensorResults legacy_tensors;     // as msprobe 1.2.1 has them, where that is asked for
  std::optional<DialectGraph> vis;  // nothing: not wanted
  std::optional<DialectGraph> db;

  bool compared() const { return bench.has_value(); }
  const DialectGraph& any() const { return vis ? *vis : *db; }
};

struct Wanted {
  bool vis = true;
  bool db = true;
  bool compat = false;  // .vis as msprobe 1.2.1 writes it
  bool fuzzy = false;
  std::optional<std::string> mapping;  // file; empty: a mapping without entries
  std::size_t threads = 1;             // for the files of tensors
  MemoryBudget* memory = nullptr;      // for them as well, shared by all ranks
};

// Pairs of tensors of which either recording has a file.
struct TensorCounts {
  std::size_t compared = 0;
  std::size_t unread = 0;
  std::string first_problem;  // of those that could not be read
};
TensorCounts tensor_counts(const TensorResults& tensors);

// Builds and compares what was read; links are added later (communication.h). Throws UserError where the two recordings
// cannot be compared.
void build_graphs(RankGraph& rank, const Wanted& wanted, const Warn& warn);

// Both files hold for every matched node the names of all nodes above its partner. Throws UserError where the tree is
// so deep that nobody could keep them: they grow with the square of its depth.
void check_paths(const RankGraph& rank, const DialectGraph& graph);

// For each NPU parameter of a node, what is said of it.
std::vector<Judged> judged_of(const RankGraph& rank, const DialectGraph& graph, std::uint32_t node);

}  // namespace msrun::graph
