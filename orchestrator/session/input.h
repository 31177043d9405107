// Where the recording of a run is: a dump.json, those of several ranks below a folder, or the two files of the older
// tool.
#pragma once

#include <filesystem>
#include <vector>

#include "orchestrator/command/command_line.h"
#include "orchestrator/plan/plan.h"

namespace msrun {

// What -api_info leads to.
struct Recordings {
  std::string dump;             // the one dump.json; empty if there are several, or the two files of the older tool
  std::vector<RankFile> ranks;  // of several
  std::vector<std::string> notices;  // what was found in a folder, one sentence each
};

// What the options name as the recording.
const std::string& recording_of(const Options& options);

// The files of the input can be read, a folder given as -api_info has a recording below it, and the directory of
// -real_data_path is there; else UserError.
Recordings find_recordings(const Options& options);

Plan read_plan(const Options& options, const Recordings& recordings, const PlanOptions& plan_options);

// Every call of the recordings, whatever the options leave out; on demand with the recorded results.
Plan read_whole_plan(const Options& options, const Recordings& recordings, bool keep_results);

// UserError if there is nothing to check: a recording without calls (for run_overflow_check an empty one is a finding),
// of modules alone or of checksums alone (under --compat msprobe only a warning), or patterns that leave no call.
void require_calls(const Options& options, const Plan& plan);

// UserError if the recording has no results, which are what the recorded backend takes for the device's.
void require_recorded_results(const Options& options, const Plan& plan);

// UserError for a device id that no device of the recording's framework has.
void require_device_ids(const Options& options, const Plan& plan);

// Whether an output of any call was recorded in a file. The plan was asked to keep results.
bool holds_results(const Plan& plan);

// The directory that the names of tensor files are relative to, for a recording with that one.
std::filesystem::path data_root(const Options& options, const TensorFolder& recorded);

// The directories that tensor files must lie in, links resolved: those that hold the tensors, and for the older
// recorder also the directory above them. Empty with --allow-outside-data: files may lie anywhere.
std::vector<std::filesystem::path> data_folders(const Options& options, const TensorFolder& recorded);

// A log line if that directory is missing, of several ranks the first that is.
void warn_if_data_is_missing(const Options& options, const Plan& plan);

}  // namespace msrun
