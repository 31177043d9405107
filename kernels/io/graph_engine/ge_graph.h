// The text in which the graph engine dumps a compiled graph, dynamo_original_graph_*.txt: protobuf's text format
// (torchair.md 4). Read in one pass with bounded memory; of each operator only what a comparison of dumps asks for is
// kept.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/io/files/file.h"

namespace msrun {

struct GeGraphOp {
  std::string name;
  std::string type;
  std::vector<std::string> inputs;    // "<producer>:<output>", as written; may be empty texts
  std::vector<std::string> fx_names;  // _fx_tensor_name of the outputs that have one, in order
  std::size_t line = 0;               // of its block, counted from 1
};

struct GeGraph {
  std::vector<GeGraphOp> ops;
  std::unordered_map<std::string, std::size_t> by_name;  // the first operator of each name
  // Not empty: the text is damaged, one sentence that names file and line; ops are those before the damage.
  std::string damage;

  const GeGraphOp* find(const std::string& name) const;
};

// Reads file from its current position to its end. Never fails on what it holds; throws FileError if it cannot be read.
GeGraph read_ge_graph(InputFile& file);

// The key of the FX node of an _fx_tensor_name: without a trailing ".OUTPUT.<i>".
std::string_view fx_node_key(std::string_view tensor_name);

}  // namespace msrun
