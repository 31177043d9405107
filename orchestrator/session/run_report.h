// The report of a run, which is written when the run is complete.
#pragma once

#include "journal/run_files.h"
#include "kernels/io/files/folder.h"

namespace msrun {

// Makes the page of the journal and gives it its name in one step, in place of an earlier one. Both are in the folder,
// whatever stands at its path by now. Throws where the journal cannot be read or the page not written; then nothing is
// left of it.
void write_report(const Folder& folder, const RunFiles& files);

}  // namespace msrun
