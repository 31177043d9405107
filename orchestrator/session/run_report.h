// The report of a run, which is written when the run is complete.
#pragma once

#include "journal/run_files.h"

namespace msrun {

// Makes the page of the journal and gives it its name in one step, in place of an earlier one. Throws where the journal
// cannot be read or the page not written; then nothing is left of it.
void write_report(const RunFiles& files);

}  // namespace msrun
