// The report of a run, which is written when the run is complete.
#pragma once

#include <string>

#include "journal/run_files.h"
#include "kernels/io/files/folder.h"

namespace msrun {

// The page of the journal, which is in the folder, whatever stands at its path by now. Throws where the journal cannot
// be read.
std::string report_of_run(const Folder& folder, const RunFiles& files);

// Gives a page its name in the folder in one step, in place of an earlier one. Throws where it cannot be written; then
// nothing is left of it.
void write_report(const Folder& folder, const RunFiles& files, const std::string& page);

}  // namespace msrun
