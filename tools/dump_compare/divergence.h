// Where two runs part first: the first call whose inputs agree and whose outputs do not, in each rank and over all of
// them (dump_compare.md 15).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/dump_compare/comparison.h"
#include "tools/recordings/alignment.h"

namespace msrun::dump_compare {

// One rank of both sides.
struct RankPair {
  std::uint64_t rank = 0;
  std::unique_ptr<Pair> pair;
  std::vector<Row> rows;    // of its table, which pairs calls by their names or as a mapping says
  std::string layer_names;  // what a layer mapping makes of them
};

enum class FindingKind : std::uint8_t { output, region, communication, source };
const char* kind_text(FindingKind kind);

struct Finding {
  std::size_t rank = 0;  // place in the list of ranks
  FindingKind kind = FindingKind::output;
  std::uint32_t call = 0;                       // of the target
  std::uint32_t golden_call = no_place;         // no_place: none
  double input_gap = 0;                         // largest gap of its inputs
  double output_gap = 0;                        // largest gap of its outputs; of a source that of the input
  std::string leaf;                             // row name of the tensor with that gap
  std::vector<std::string> scalar_differences;  // arguments that are not the same, "input.1: 0.1, 0.2"
  bool low_confidence = false;
};

struct RankSummary {
  std::size_t aligned = 0;
  std::size_t inserted = 0;
  std::size_t deleted = 0;
  std::size_t reordered = 0;
  std::size_t renamed = 0;
  std::size_t differing = 0;  // renamed, with other outputs
  bool compared = false;      // some pair of tensors has values on both sides
};

enum class Verdict : std::uint8_t { found, none, not_comparable, random, nothing_compared };
const char* verdict_text(Verdict verdict);

struct Divergence {
  Verdict verdict = Verdict::none;
  std::vector<Finding> findings;  // found: the first, then the others that no call before them explains
  std::vector<RankSummary> ranks;
  // Nothing found: calls with other arguments, whose outputs agree all the same: "CALL, input.6: 0.1, 0.2".
  std::vector<std::string> other_arguments;
};

// pairs: one for each rank. tolerance scales all limits. Tensors are read where both sides have them.
Divergence find_divergence(const std::vector<RankPair>& pairs, double tolerance);

}  // namespace msrun::dump_compare
