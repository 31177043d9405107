// Dump trees of a compiled graph as the graph engine (GE) and its eager counterpart (FX) write them, of any size, for
// load tests and benchmarks of the converter and the comparison.
#pragma once

#include <cstdint>
#include <string>

namespace msrun::bench {

struct TorchairTree {
  std::uint64_t operators = 100;   // add nodes, each with two inputs and an output
  std::uint64_t tokens = 1;        // iterations: every operator is dumped once in each
  std::uint64_t elements = 32768;  // of every tensor
  bool half = false;               // GE tensors in float16 rather than float32
  double noise = 1e-4;             // relative difference of GE from FX
  std::uint64_t seed = 1;
};

struct TreeSize {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

// Makes directory/msprobe_ge_dump, with the graph text that a comparison needs.
TreeSize write_ge_tree(const TorchairTree& tree, const std::string& directory);
// Makes directory/msprobe_fx_dump.
TreeSize write_fx_tree(const TorchairTree& tree, const std::string& directory);

}  // namespace msrun::bench
