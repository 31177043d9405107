// The comparison of one rank: its graphs and tokens in order, their operators on all processors, the report.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "tools/torchair_compare/messages.h"
#include "tools/torchair_compare/op_planner.h"
#include "tools/torchair_compare/options.h"

namespace msrun::torchair {

struct RankJob {
  std::optional<std::uint64_t> rank;  // none: dumps without rank directories
  std::string target_root;            // where the graph texts are looked for
  std::string my_base;
  std::string golden_base;
  DumpKind kind = DumpKind::fx;
  bool golden_of_rank = false;  // golden_base is, or lies in, the directory of a rank
};

// Returns how many tensors with elements were compared with those of the other dump, of which there may be none
// although both sides have some. Throws UserError if there is nothing that could be compared, or the report cannot be
// written.
std::uint64_t compare_rank(const RankJob& job, const Options& options, Messages& messages, std::ostream& out);

}  // namespace msrun::torchair
