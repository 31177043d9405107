// Values that no call has computed. Arguments that a call writes without reading them (buffers of communications, the
// tensor that copy_ fills) hold before whatever the memory held, which recorders write down as an input.
#pragma once

#include <string_view>

#include "tools/recordings/recording.h"

namespace msrun::recordings {

bool is_only_written(const Recording& side, const Call& call, const Leaf& leaf);

// Whether the call of that name hands out memory that nobody has written yet, or what is filled on purpose.
bool may_hold_anything(std::string_view name);

}  // namespace msrun::recordings
