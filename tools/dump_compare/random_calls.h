// Calls whose results differ from run to run however right they are.
#pragma once

#include "tools/recordings/recording.h"

namespace msrun::dump_compare {

// Whether the call draws numbers, by its name and its recorded arguments. A backward call has those of its forward
// call nowhere: given itself it counts as random if any forward call of that name may be.
bool is_random(const recordings::Recording& side, const recordings::Call& call);

// Outputs that hold whatever was in memory, or the state of a generator.
bool is_left_out(const recordings::Recording& side, const recordings::Call& call, const recordings::Leaf& output);

}  // namespace msrun::dump_compare
