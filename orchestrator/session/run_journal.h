// The journal of a pre-check: what its header says, and how the run that it belongs to is continued.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "journal/reader.h"
#include "journal/writer.h"
#include "orchestrator/output/results.h"
#include "orchestrator/session/error_data_folder.h"
#include "orchestrator/session/job.h"
#include "orchestrator/session/new_files.h"
#include "orchestrator/session/run_identity.h"
#include "runner/results/attempts.h"
#include "runner/results/record.h"
#include "runner/results/stored_results.h"

namespace msrun {

// A new journal at path, which new_file removes unless it is kept; nothing if there is something of that name. It says
// how the CSVs are written, style, so that they can be made of it alone. Throws journal::WriteError.
std::optional<journal::Writer> begin_journal(const SessionState& session, const std::string& path,
                                             const CsvStyle& style, NewFile& new_file, const MoreMetadata& more = {});

// What the journal of a run holds.
struct JournalledRun {
  StoredResults results;          // of the planned calls
  std::vector<ResultPart> parts;  // of calls for all devices that have no result
  AttemptHistory attempts;
  StoredResults kept;  // of calls that are not planned, by their place among each other
  journal::Recovery recovery;
};

// Reads the journal of a run that has planned so many calls, and keeps the results of at most so many others. Throws
// what read_records() throws.
JournalledRun read_run(const journal::Source& journal, std::size_t tasks, std::uint64_t most_kept);

// What an earlier run left behind, and its journal, open to be continued.
struct EarlierRun {
  journal::Writer journal;
  StoredResults results;
  std::vector<ResultPart> parts;  // of calls for all devices that have no result
  AttemptHistory attempts;
  KeptResults kept;
  std::vector<std::string> notes;  // what of the files could not be used; one sentence each
  bool is_imported = false;        // from the CSVs
  EarlierErrorData error_data;
};

// Reads the journal; without one the CSVs, which are of that style, and makes a journal of what they say: rows of calls
// that are not planned, because the plan is of a part of the recording, are kept. Throws UserError for files of another
// dump, for a journal of other options, with the differences named, for one without results beside CSVs that have some,
// and for files that cannot be read; journal::Error for damage.
EarlierRun reopen_run(const SessionState& session, const RunFiles& files, const CsvStyle& style, NewFile& new_file);

}  // namespace msrun
