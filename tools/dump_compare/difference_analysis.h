// The files of msProbe's own search for the first difference over ranks (dump_compare.md 13), its errors included: for
// --compat msprobe. What msrun itself searches for is in divergence.h.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "tools/dump_compare/divergence_report.h"

namespace msrun::dump_compare {

// Compares each rank by its statistics, writes compare_result_rank<r>_<stamp>.json of each (calls, whether their
// outputs are the same, all rows) and, if some call differs, diff_analyze_<nanoseconds>.json; lines go to out. names:
// of the folders of the ranks. Throws UserError.
void analyze_differences(std::vector<RankPair>& pairs, const std::vector<std::string>& names, const Options& options,
                         const std::string& folder, std::string& stamp, std::ostream& out,
                         const std::function<void(const std::string&)>& warn);

}  // namespace msrun::dump_compare
