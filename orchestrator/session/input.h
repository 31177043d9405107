// Where the recording of a run is: a dump.json, or the two files of the older tool.
#pragma once

#include <filesystem>

#include "orchestrator/command/command_line.h"
#include "orchestrator/plan/plan.h"

namespace msrun {

// The framework, as far as it is told, has a dialect, the files can be read, and the directory of -real_data_path is
// there; else UserError.
void check_input(const Options& options);

Plan read_plan(const Options& options, const PlanOptions& plan_options);

// UserError if the recording has no results, which are what the recorded backend takes for the device's.
void require_recorded_results(const Options& options, const Plan& plan);

// Whether an output of any call was recorded in a file. The plan was asked to keep results.
bool holds_results(const Plan& plan);

// The directory that the names of tensor files are relative to.
std::filesystem::path data_root(const Options& options, const Plan& plan);

// A log line if that directory is missing.
void warn_if_data_is_missing(const Options& options, const Plan& plan);

}  // namespace msrun
