// Paths that the command reads or writes beside those of a fresh run (journal/run_files.h).
#pragma once

#include <string>

#include "journal/run_files.h"
#include "kernels/io/files/paths.h"

namespace msrun {

// The files that -csv_path continues: the result file must have its original name and, if it is there, be readable and
// writable. Without a journal to render them from, both CSVs must be there.
RunFiles resumed_run_files(const std::string& csv_path);

}  // namespace msrun
