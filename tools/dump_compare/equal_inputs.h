// How far the outputs of two devices may lie apart that compute one call from equal inputs: by what the operator
// rounds, and no more.
#pragma once

#include <optional>
#include <string_view>

#include "tools/recordings/recording.h"

namespace msrun::dump_compare {

// Two calls that belong together, each of its recording.
struct CallPair {
  const recordings::Recording& target;
  const recordings::Call& mine;
  const recordings::Recording& golden;
  const recordings::Call& theirs;
};

// Whether the operator that calls name so gives one result from equal inputs, but for rounding: it draws nothing and is
// left no choice among equal elements. False where it is not known.
bool gives_one_result(std::string_view type, std::string_view api);

// The limit of the gap (recordings/gap.h) of an output; 0: it must be equal. Nothing where the operator is not known,
// is left a choice, or computes products, whose float32 operands devices round: the usual limit holds.
std::optional<double> limit_of_equal_inputs(const CallPair& calls, const recordings::Leaf& output);

}  // namespace msrun::dump_compare
