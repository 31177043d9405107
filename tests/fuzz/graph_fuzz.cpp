// Any bytes as each of the three files of a recording whose graph is built: a tree from which every node is reached
// once, or one UserError.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"
#include "tools/graph/side_reader.h"
#include "tools/graph/tree.h"

namespace {

using namespace msrun;

constexpr std::string_view construct =
    R"({"Module.net.Net.forward.0": null, "Functional.relu.0.forward": "Module.net.Net.forward.0"})";
constexpr std::string_view stack = R"({"Functional.relu.0.forward": ["File a.py, line 1, in forward, \n x"]})";
constexpr std::string_view dump =
    R"({"task": "statistics", "data": {"Functional.relu.0.forward": {"input_args": [{"type": "int", "value": 1}]}}})";

void check_tree(const graph::Side& side) {
  const auto ignore = [](const std::string&) {};
  for (const bool compat : {false, true}) {
    const graph::Tree tree = graph::build_tree(side, compat, ignore);
    if (tree.preorder.size() != tree.nodes.size() || tree.postorder.size() != tree.nodes.size()) std::abort();
  }
}

}  // namespace

FUZZ_TARGET(graph_fuzz) {
  for (int fuzzed = 0; fuzzed < 3; ++fuzzed) {
    const auto source = [&](int file, std::string_view text) {
      return file == fuzzed ? JsonReader::Source(InputPieces(data, size)) : memory_source(text);
    };
    try {
      graph::Side side;
      graph::read_construct("construct.json", source(0, construct), side);
      graph::read_stacks("stack.json", source(1, stack), side);
      graph::read_dump("dump.json", source(2, dump), graph::OverflowRules::repaired, side);
      check_tree(side);
    } catch (const UserError&) {
    }
  }
  return 0;
}
