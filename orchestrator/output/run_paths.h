// Paths that the command reads or writes beside those of a fresh run (journal/run_files.h).
#pragma once

#include <string>

#include "journal/run_files.h"
#include "kernels/io/files/paths.h"

namespace msrun {

// The files that -csv_path continues, which names the result file or, as is easily done, the details file or the
// journal beside it, or a CSV of one rank of a run over several, which is continued as a whole: they must have their
// original names and, if they are there, be readable and writable. Without a journal to render them from, both CSVs
// must be there, and neither may be a symbolic link.
RunFiles resumed_run_files(const std::string& csv_path);

}  // namespace msrun
