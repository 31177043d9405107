// Whether CSVs without a journal can be of the recording that a run continues them with. They name calls, and another
// recording of the same model has calls of the same names; but their rows say dtypes and shapes as well.
#pragma once

#include <string>

#include "orchestrator/session/job.h"
#include "orchestrator/session/run_journal.h"

namespace msrun {

// Compares the rows of a run that was imported from CSVs, of which result is the result file, with what the recording
// says of its calls. Throws UserError, naming the first row, where they contradict it:
//
// * An output has another shape than the recorded one. Axes whose size may depend on values (as those of nonzero) say
//   nothing: a size that the recording has for the output but for none of the call's arguments.
// * Both are of floating dtypes, and the row's is neither the recorded one nor that of an argument, nor the
// benchmark's.
// * It has gradients of a call without a backward entry.
//
// Warns if the recording was written after the result file.
void require_rows_of_recording(const SessionState& session, const EarlierRun& run, const std::string& result);

}  // namespace msrun
