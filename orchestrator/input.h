// Where the recording of a run is: a dump.json, or the two files of the older tool.
#pragma once

#include <filesystem>

#include "orchestrator/command_line.h"
#include "orchestrator/plan.h"

namespace msrun {

// The framework is PyTorch as far as it is told, the files can be read, and the directory of -real_data_path is there;
// else UserError.
void check_input(const Options& options);

Plan read_plan(const Options& options, const PlanOptions& plan_options);

// The directory that the names of tensor files are relative to.
std::filesystem::path data_root(const Options& options);

}  // namespace msrun
