// What became of the calls of each of several ranks, for the closing table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orchestrator/view/console.h"
#include "runner/results/counts.h"

namespace msrun {

// Columns that a line of the closing table has at most.
inline constexpr std::size_t closing_width = 120;

struct RankCounts {
  std::string rank;
  std::uint64_t calls = 0;
  VerdictCounts counts;  // of those that have a result
};

// Ranks of the same counts have one line together, those with the most suspicious calls first; lines of at most
// closing_width columns.
std::string rank_table(const std::vector<RankCounts>& ranks, const Paint& paint);

// "step0/rank0, step0/rank1, step0/rank2 and 61 more".
inline constexpr std::size_t most_named = 3;
std::string some_ranks(const std::vector<std::string>& ranks, std::size_t most = most_named);

}  // namespace msrun
