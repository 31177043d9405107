// The first divergence of two runs as a file and as lines for the console (dump_compare.md 15.5).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "tools/dump_compare/comparison.h"
#include "tools/dump_compare/options.h"

namespace msrun::dump_compare {

struct RankPair {
  std::uint64_t rank = 0;
  std::unique_ptr<Pair> pair;
};

// Searches, writes first_divergence_<stamp>.json to the folder and lines to out; with check_suspects it runs msrun on
// the calls it names, and all_checked says whether each of them could be checked. unread: ranks that take no part
// because they could not be read. The stamp becomes one that is free. Returns the lines. Throws WriteError.
std::vector<std::string> report_first_divergence(const std::vector<RankPair>& pairs,
                                                 const std::vector<std::uint64_t>& unread, const Options& options,
                                                 const std::string& folder, std::string& stamp, std::ostream& out,
                                                 bool& all_checked);

}  // namespace msrun::dump_compare
