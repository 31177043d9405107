// The data types of the graph engine's dumps (torchair.md 5.1).
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/io/stored_tensor.h"

namespace msrun {

inline constexpr std::int32_t ge_undefined = 0;

struct GeType {
  NumpyType type;  // once decoded
  Encoding encoding = Encoding::plain;
};

// Nothing for types that cannot be decoded.
std::optional<GeType> ge_type(std::int32_t code);

// The 8-bit floats as a dump holds them. NaN is a quiet NaN without sign.
double decode_float8_e4m3fn(std::uint8_t bits);
double decode_float8_e5m2(std::uint8_t bits);
double decode_hifloat8(std::uint8_t bits);

}  // namespace msrun
