// Arguments that a call writes without reading them: buffers of communications, the tensor that copy_ fills. What is in
// them before, which recorders write down as an input, is whatever the memory held.
#pragma once

#include "tools/recordings/recording.h"

namespace msrun::recordings {

bool is_only_written(const Recording& side, const Call& call, const Leaf& leaf);

}  // namespace msrun::recordings
