// The comparison of one dumped operator: which tensors are paired, and the rows that come of it (torchair.md 7).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "kernels/io/graph_engine/ge_graph.h"
#include "tools/torchair_compare/comparer.h"
#include "tools/torchair_compare/token_files.h"

namespace msrun::torchair {

// Everything that the operators of one token share. Kept alive by the tasks that are not done yet: when an error ends
// the comparison, some are still under way.
struct TokenData {
  std::int64_t token = 0;
  std::shared_ptr<const GeGraph> graph;
  GeToken mine;
  GeToken golden_ge;
  FxToken golden_fx;
};

// What is compared with the tensors of the operator. Pointers go into TokenData and its graph.
struct AgainstFx {
  std::vector<const FxNode*> inputs;   // nodes whose inputs the operator's are compared with, one after the other
  std::vector<const FxNode*> outputs;  // and whose outputs
  std::vector<std::size_t> named;      // of each of those: how many of its outputs the graph says are the operator's
  // Nodes that further outputs of the operator name. They are not compared, but msProbe does so and throws the rows
  // away, which shows in the numbers of all rows behind.
  std::vector<const FxNode*> replaced;
};
struct AgainstItself {};  // inputs with outputs
struct AgainstGe {
  const GeOpFile* golden = nullptr;
};
struct FusedPart {
  const GeGraphOp* op = nullptr;
  const GeOpFile* golden = nullptr;  // null: not dumped
};
struct AgainstFused {
  std::vector<FusedPart> parts;
};

struct OpTask {
  std::shared_ptr<const TokenData> data;
  const GeOpFile* mine = nullptr;
  std::string stack_info = "N/A";
  std::variant<AgainstFx, AgainstItself, AgainstGe, AgainstFused> golden;
};

struct OpRows {
  std::uint64_t unused_ids = 0;  // values of data_id that no row has, before those of the rows
  // Where the golden file of the same operator holds another number of inputs or outputs: tensors without a row.
  std::uint64_t mine_alone = 0;
  std::uint64_t golden_alone = 0;
  std::vector<std::string> damage;  // a sentence for each file, or tensor of one, that cannot be read
  std::vector<Row> rows;
};

// Never fails on what the files hold: a file that cannot be read is a row that says so.
OpRows compare_op(const OpTask& task, Comparer& comparer);

}  // namespace msrun::torchair
