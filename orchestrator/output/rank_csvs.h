// The CSV files of several ranks that are checked in one run: each rank has a pair in the folder of its name, in the
// form of a run of that rank alone.
#pragma once

#include <string>
#include <vector>

#include "kernels/io/files/folder.h"
#include "orchestrator/output/csv.h"
#include "orchestrator/view/rank_table.h"
#include "runner/results/rank_calls.h"
#include "runner/results/task_results.h"

namespace msrun {

using RankList = std::vector<const RankCalls*>;

// Where the files of a rank are: "step0/rank3" below the folder of the run.
RunFiles rank_files(const std::string& directory, const std::string& rank, const std::string& stamp);

// Makes the folders of all ranks that are missing. Throws WriteError.
void make_rank_folders(const Folder& folder, const RankList& ranks);

// Replaces the files of all ranks by these results, each file in one step; calls without a result have no row. A call
// whose result is that of another rank's has its own name in front of it. Files that were there and have a row of a
// call that the new ones lack are kept under the names that are returned. The rows are made by so many threads. Throws
// WriteError.
std::vector<std::string> write_rank_csvs(const Folder& folder, const std::string& stamp, const RankList& ranks,
                                         const CsvStyle& style, const TaskResults& results, unsigned threads = 1);

std::vector<RankCounts> count_by_rank(const RankList& ranks, const TaskResults& results);

}  // namespace msrun
