// Arguments that are no tensors and differ between two calls that belong together.
#pragma once

#include <string>
#include <vector>

#include "tools/recordings/recording.h"

namespace msrun::dump_compare {

struct ArgumentDifference {
  std::string text;  // "input.4: 0.001, 1e-12"
  // What was set differs, so that the recordings are not of one model: no device, no number that rounding made of the
  // tensors before, and nothing that has no bearing on what is computed.
  bool counts = false;
};

// closeness: how far numbers may lie apart that were computed, relative to the golden ones.
std::vector<ArgumentDifference> argument_differences(const recordings::Recording& target, const recordings::Call& mine,
                                                     const recordings::Recording& golden,
                                                     const recordings::Call& theirs, double closeness);

}  // namespace msrun::dump_compare
