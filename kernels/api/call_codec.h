// The bytes in which a planned call waits in shared memory: made by the planner, once per call, read by the runner that
// takes it. One program writes and reads them, so they carry no version; decoding is still safe on any bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/api/api_call.h"

namespace msrun {

// Appends value. A materialised tensor (Tensor, Var) in it is a std::logic_error: only what a dump says is encoded.
void encode_value(const Value& value, std::string& out);
// The value at the front of bytes, which is taken off. Throws std::runtime_error if there is none.
Value decode_value(std::string_view& bytes);

// What makes values equal, appended: two of them have the same bytes if they are. The order of keyword arguments and
// dictionaries does not matter; nor do, unless they are asked for, the statistics of tensors.
enum class Statistics : std::uint8_t { ignored, compared };
void append_identity(const List& values, Statistics statistics, std::string& out);
void append_identity(const Dict& values, Statistics statistics, std::string& out);

std::string encode(const ApiCall& call);
// Throws std::runtime_error unless bytes are exactly one encoded call.
ApiCall decode_call(std::string_view bytes);

}  // namespace msrun
