// Where the journal of a run over several ranks is, by one of the CSVs that it writes for each rank.
#pragma once

#include <optional>
#include <string>

#include "journal/run_files.h"

namespace msrun {

// The files of the run that path, the result or details file of one of its ranks, belongs to: the journal is not beside
// it but in a folder above, has the same time stamp and names the rank. They are those of the folder of the journal,
// where there are no CSVs. Nothing if there is no such journal, or one beside path.
std::optional<RunFiles> files_of_rank_csv(const std::string& path);

// files_of_run_file(), or files_of_rank_csv() where that finds a journal.
std::optional<RunFiles> files_with_journal(const std::string& path);

}  // namespace msrun
