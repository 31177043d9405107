// The first divergence of two runs as a file and as lines for the console (dump_compare.md 15.5).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/dump_compare/divergence.h"
#include "tools/dump_compare/judge.h"
#include "tools/dump_compare/options.h"

namespace msrun::dump_compare {

struct DivergenceReport {
  std::vector<std::string> lines;
  bool none = false;  // the verdict
  // What it counts for beside the rows: a call that differs is an error, random numbers that differ or a search that
  // could not be done a warning.
  Level level = Level::pass;
  bool all_checked = false;  // with check_suspects: msrun could check each call
};

// Searches, writes first_divergence_<stamp>.json to the folder and lines to out; with check_suspects it runs msrun on
// the calls it names. unread: ranks that take no part because they could not be read. The stamp becomes one that is
// free. Throws WriteError.
DivergenceReport report_first_divergence(const std::vector<RankPair>& pairs, const std::vector<std::uint64_t>& unread,
                                         const Options& options, const std::string& folder, std::string& stamp,
                                         std::ostream& out);

}  // namespace msrun::dump_compare
