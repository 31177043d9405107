// The 8-bit floats as files hold them, decoded exactly.
#pragma once

#include <cstdint>

namespace msrun {

// NaN is a quiet NaN without sign.
double decode_float8_e4m3fn(std::uint8_t bits);
double decode_float8_e5m2(std::uint8_t bits);
double decode_hifloat8(std::uint8_t bits);

}  // namespace msrun
