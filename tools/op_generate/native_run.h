// The comparison that a generated script makes, without Python: msrun's own kernels in the recorded dtypes against the
// same in raised precision.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "tools/op_generate/drawn_inputs.h"

namespace msrun::op_generate {

struct NativeRun {
  SeedMode seed_mode = SeedMode::stream;
  // What is odd about the recording; one sentence each.
  std::function<void(const std::string&)> report;
  // Every tensor that is built, as a JSON array in this file; empty: none.
  std::string inputs_path;
};

// Prints what the script prints. Throws UserError where the call cannot be run.
void run_natively(const RecordedCase& recorded, const NativeRun& run, std::ostream& out);

}  // namespace msrun::op_generate
