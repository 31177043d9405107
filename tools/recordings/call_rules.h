// What the name of a call says of how it is to be judged, for all commands that compare recordings. api is the middle
// part of a name: "new_empty" of "Tensor.new_empty.0.forward".
#pragma once

#include <string_view>

namespace msrun::recordings {

// Calls whose outputs hold whatever was in memory.
bool is_uninitialised(std::string_view api);

// Calls that the documented rules do not judge: those, and conversions and assignments.
bool is_without_rules(std::string_view api);

// Communications whose inputs are buffers that they fill.
bool has_buffers(std::string_view api);

// Whether the api is a call between ranks.
bool is_between_ranks(std::string_view api);

// Whether a name holds the word of such a call, as it does in a namespace of nothing but communications.
bool holds_communication(std::string_view name);

}  // namespace msrun::recordings
