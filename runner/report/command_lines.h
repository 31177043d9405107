// The command lines that a report shows, which are run in its folder and not where the run was started.
#pragma once

#include <string>
#include <string_view>

#include "runner/results/run_header.h"

namespace msrun::report {

// A path as the run was given it, made absolute; as it is where the header does not say in which folder that was.
std::string absolute_path(const std::string& path, const RunHeader& header);

// The line of msrun with all paths of files that it reads made absolute.
std::string absolute_command(std::string_view line, const RunHeader& header);

}  // namespace msrun::report
