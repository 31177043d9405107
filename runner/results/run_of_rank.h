// What of a run over several ranks is the run of one of them: where the run's journal is, by one of the CSVs that it
// writes for each rank, and which of its results, under which names, are the rank's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "journal/run_files.h"
#include "runner/results/rank_calls.h"
#include "runner/results/run_header.h"
#include "runner/results/stored_results.h"

namespace msrun {

struct RunOfRank {
  RunFiles whole;  // of the folder of the journal, where there are no CSVs
  RunFiles own;    // of the folder of the rank's CSVs, where there is no journal
  std::string rank;
};

// The run that path, the result or details file of one of its ranks, belongs to: the journal is not beside it but in a
// folder above, has the same time stamp and names the rank. Nothing if there is no such journal, or one beside path.
std::optional<RunOfRank> run_of_rank_csv(const std::string& path);

// The run over several devices that path, a CSV in the folder "device<id>" of one of them, is of: its journal, of the
// same time stamp, is one folder up. Nothing if there is no such journal, or one beside path.
std::optional<RunFiles> run_of_device_csv(const std::string& path);

// files_of_run_file(), or those with the journal further up where run_of_rank_csv() or run_of_device_csv() find one.
std::optional<RunFiles> files_with_journal(const std::string& path);

// The header as that of a run of the rank alone. The fingerprint has, in place of "dump", "recording": what the whole
// run says of the rank's calls is made otherwise than what a run of them alone says.
RunHeader header_of_rank(RunHeader whole, const std::string& rank);

// The results of the rank's calls, in the order of its recording and under the names that they have there. Those that
// the whole run does not have are missing here, too.
StoredResults results_of_rank(const StoredResults& whole, const RankCalls& calls);

}  // namespace msrun
