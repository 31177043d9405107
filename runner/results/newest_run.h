// Which of the runs in a folder is the newest, for all who take a folder for its newest run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <system_error>

#include "journal/run_files.h"

namespace msrun {

// The files of the run that one file of a folder, by its path, belongs to; nothing if that run does not count.
using RunOfFile = std::function<std::optional<RunFiles>(const std::string& path)>;

// Of the runs that count the one that was begun last. When that was its journal says, that of a rank's CSVs further up
// as well. The names of the files have the local time, which goes back when summer time ends and is another one in a
// container; they count where there is no journal that says it, and tell apart what was begun in the same second. What
// has the same name then, as the parts of a run often have, and the run that was merged of them, is told apart by the
// last write to the journal, or where there is none to the result file. Nothing if no run counts; error is set if the
// folder cannot be read to its end.
std::optional<RunFiles> newest_run(const std::string& folder, const RunOfFile& run_of, std::error_code& error);

// Whether the run has checked a part of a recording alone, by the names of its files.
bool is_of_part(const RunFiles& files);

}  // namespace msrun
