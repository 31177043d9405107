// Any bytes as the text of a compiled graph: operators that can be looked up, or one sentence on the damage.
#include <cstdint>
#include <cstdlib>

#include "kernels/io/graph_engine/ge_graph.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(ge_graph_fuzz) {
  using namespace msrun;
  const MemoryFile bytes(data, size);
  InputFile file(bytes.path());
  const GeGraph graph = read_ge_graph(file);
  for (const GeGraphOp& op : graph.ops) {
    if (graph.find(op.name) == nullptr) std::abort();
    for (const std::string& name : op.fx_names) {
      if (!name.starts_with(fx_node_key(name))) std::abort();
    }
  }
  return 0;
}
