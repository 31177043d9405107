// Calls and results as the worker's protocol writes them (chapter "Protocol" of docs/devices.md; the other end is
// the calls.py of each framework's worker).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runner/device/python/arena.h"
#include "runner/device/reply.h"

namespace msrun {

// The request for a call; its tensors are copied into the arena, which grows as needed. Throws SkipError for values
// that the protocol does not have, and what Arena::reserve throws.
std::string encode_call(const DeviceCall& call, std::uint64_t id, Arena& arena);

// Throws BadFrame for a text that is no reply to the request of that id or that names memory outside of the arena;
// SkipError and NoTensorMemory where a tensor cannot be had.
Reply decode_reply(std::string_view text, std::uint64_t id, Arena& arena);

// The identity of the worker's thread that a lane begins with. Throws BadFrame for a text that is no such beginning.
std::uint64_t decode_lane(std::string_view text);

// text as a string of JSON, quotes included.
std::string json_string(std::string_view text);

}  // namespace msrun
