// The journal of a pre-check: what its header says, and how the run that it belongs to is continued.
#pragma once

#include <string>

#include "journal/writer.h"
#include "orchestrator/session/job.h"
#include "orchestrator/session/new_files.h"
#include "runner/results/attempts.h"
#include "runner/results/stored_results.h"

namespace msrun {

// A new journal at files.journal, which new_file removes unless it is kept. Throws journal::WriteError.
journal::Writer begin_journal(const SessionState& session, const std::string& path, NewFile& new_file);

// What an earlier run left behind, and its journal, open to be continued.
struct EarlierRun {
  journal::Writer journal;
  StoredResults results;
  AttemptHistory attempts;
};

// Reads the journal; without one the CSVs, which are of that style, and makes a journal of what they say. Throws
// UserError for a journal of another dump or other options, with the differences named, and for files that cannot be
// read; journal::Error for damage.
EarlierRun reopen_run(const SessionState& session, const RunFiles& files, const CsvStyle& style, NewFile& new_file);

}  // namespace msrun
