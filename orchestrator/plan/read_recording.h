// One dump.json, read to its end, and what the plan makes of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/io/dump/dump_entry.h"
#include "orchestrator/plan/plan_builder.h"

namespace msrun {

struct ReadRecording {
  std::unique_ptr<PlanBuilder> builder;  // has all entries, and is not finished
  DumpHeader header;
  bool real_data = false;
  TensorFolder tensor_folder;         // of real data
  std::vector<std::string> warnings;  // one sentence each

  RecordingContents contents() const;
};

// Reads path, as that of a rank unless rank is null. path, options and rank must outlive the builder. Throws UserError
// for a file that is no dump, or that of a framework without a dialect. May be called by several threads.
ReadRecording read_recording(const std::string& path, const PlanOptions& options, const std::string* rank);

}  // namespace msrun
