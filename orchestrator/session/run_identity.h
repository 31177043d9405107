// What the header of a journal says about its run, and whether it is the run that is to be continued.
#pragma once

#include <cstddef>
#include <string>

#include "orchestrator/output/results.h"
#include "orchestrator/session/job.h"

namespace msrun {

// What a header says besides what the session knows.
struct MoreMetadata {
  std::size_t kept = 0;         // how many results of calls that are not planned the journal holds
  std::string error_data = {};  // identity of the folder of -save_error_data; empty: not known
};

// The header of the journal of this run, JSON: the fingerprint, which holds everything that changes a result, and what
// is there to be read: program, command, host, options, recordings.
std::string journal_metadata(const SessionState& session, const CsvStyle& style, const MoreMetadata& more);

// Throws UserError with the differences named unless metadata, the header of that journal, is of a run over the same
// dump with the same options, as far as they change results.
void require_same_run(const std::string& metadata, const SessionState& session, const std::string& journal);

// Going on with another device is allowed, and every result says what it was tested on; but the counts of the run then
// speak of both.
void warn_of_other_device(const std::string& metadata, const SessionState& session, const std::string& journal);

// What all have in common who check the same in the same way, whatever part of it: 16 hexadecimal digits.
std::string run_key(const SessionState& session);
// Whether a journal with this header is of the same, whatever part of it.
bool is_of_run(const std::string& metadata, const SessionState& session);

}  // namespace msrun
