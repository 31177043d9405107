// The CSVs of a merged run.
#pragma once

#include "journal/run_files.h"
#include "orchestrator/output/csv.h"
#include "orchestrator/output/rank_csvs.h"
#include "runner/results/task_results.h"

namespace msrun {

// Writes both files in dump order, each in one step, the same bytes as write_csv_files(); the rows are made by several
// threads. Throws WriteError.
// Of several ranks, each gets its pair (rank_csvs.h).
void write_merged_csvs(const RunFiles& files, const CsvStyle& style, const TaskResults& results, const RankList& ranks);

}  // namespace msrun
