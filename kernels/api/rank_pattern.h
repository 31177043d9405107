// Patterns for calls of several ranks: a glob pattern of ranks and a colon may stand in front of that of the calls.
#pragma once

#include <string>

namespace msrun {

// "step*/rank3:Torch.matmul.*", taken apart at the first colon outside of brackets; without one it is for every rank.
struct RankedPattern {
  std::string rank;  // "step*/rank3"; empty: every one
  std::string calls;
};
RankedPattern ranked_pattern(const std::string& pattern);

// Whether a glob pattern means the rank "step0/rank3": "step0/rank3", "rank3", "step0" and "step*/rank[0-3]" do, as
// many folders of its name, one below the other, as the pattern has.
bool matches_rank(const std::string& pattern, const std::string& rank);

// Whether the pattern means the call "Torch.matmul.0" of that rank.
bool matches_call_of_rank(const RankedPattern& pattern, const std::string& rank, const std::string& call);

}  // namespace msrun
