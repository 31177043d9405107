// Which golden tensors one dumped operator is to be compared with (torchair.md 7.2 and 7.4), and a count of what has no
// counterpart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "kernels/io/graph_engine/ge_graph.h"
#include "tools/torchair_compare/messages.h"
#include "tools/torchair_compare/op_task.h"

namespace msrun::torchair {

// What has no row, for the closing summary.
struct Unmatched {
  std::uint64_t missing_golden = 0;  // operators whose golden data, a part of them, or golden token, is missing
  std::uint64_t golden_tokens = 0;   // tokens of the golden dump alone
  std::uint64_t golden_alone = 0;    // operators or FX nodes of the golden dump alone, or with tensors of it alone
  std::uint64_t not_in_graph = 0;    // dumped operators that the graph does not know
  std::uint64_t not_dumped = 0;      // operators of the graph without a dump
};

class OpPlanner {
 public:
  // All of them must outlive the planner; what it finds unmatched is counted and told of.
  OpPlanner(DumpKind kind, const GeGraph& graph, Messages& messages, Unmatched& unmatched)
      : kind_(kind), graph_(graph), messages_(messages), unmatched_(unmatched) {}

  // Sets task.golden. parts are indices of the graph's operators that the dumped one consists of. False if it has no
  // row.
  bool plan(const std::vector<std::size_t>& parts, OpTask& task) {
    return kind_ == DumpKind::ge ? plan_against_ge(parts, task) : plan_against_fx(parts, task);
  }

  // To be called when the operators of a token have been planned: names what its golden dump alone has.
  void name_golden_alone(const TokenData& data);

 private:
  // What of an FX node is compared.
  struct Wanted {
    bool inputs = false;
    bool outputs = false;
  };

  bool plan_against_fx(const std::vector<std::size_t>& parts, OpTask& task);
  bool plan_against_ge(const std::vector<std::size_t>& parts, OpTask& task);
  std::vector<const FxNode*> fx_nodes(const GeGraphOp& op, const OpTask& task, Wanted wanted);
  void name_missing_tensors(const GeGraphOp& op, const OpTask& task, const std::string& key, Wanted wanted);

  DumpKind kind_;
  const GeGraph& graph_;
  Messages& messages_;
  Unmatched& unmatched_;
  std::unordered_set<std::string> used_;  // golden operators or FX nodes of the token that operators were planned with
};

}  // namespace msrun::torchair
