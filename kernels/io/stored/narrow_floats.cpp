#include "kernels/io/stored/narrow_floats.h"

#include <cmath>
#include <limits>

namespace msrun {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();

double with_sign(std::uint8_t bits, double magnitude) { return (bits & 0x80) != 0 ? -magnitude : magnitude; }

}  // namespace

double decode_float8_e4m3fn(std::uint8_t bits) {
  const int exponent = (bits >> 3) & 0xF;
  const int mantissa = bits & 7;
  if ((bits & 0x7F) == 0x7F) return quiet_nan;
  return with_sign(bits, exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10));
}

double decode_float8_e5m2(std::uint8_t bits) {
  const int exponent = (bits >> 2) & 0x1F;
  const int mantissa = bits & 3;
  if (exponent == 31) return mantissa == 0 ? with_sign(bits, infinity) : quiet_nan;
  return with_sign(bits, exponent == 0 ? std::ldexp(mantissa, -16) : std::ldexp(4 + mantissa, exponent - 17));
}

// A prefix says how many bits the exponent has; the mantissa takes what is left.
double decode_hifloat8(std::uint8_t bits) {
  if (bits == 0) return 0;
  if (bits == 0x80) return quiet_nan;
  const int magnitude = bits & 0x7F;
  if (magnitude == 0x6F) return with_sign(bits, infinity);
  if (magnitude < 0x08) return with_sign(bits, std::ldexp(1, magnitude - 23));
  int exponent_bits = 0;
  if (magnitude >= 0x60) {
    exponent_bits = 4;
  } else if (magnitude >= 0x40) {
    exponent_bits = 3;
  } else if (magnitude >= 0x20) {
    exponent_bits = 2;
  } else if (magnitude >= 0x10) {
    exponent_bits = 1;
  }
  // Prefixes of 2, 2, 2, 3 and 4 bits leave 5 - D mantissa bits, but for D = 0 and 1, which have fewer.
  const int mantissa_bits = exponent_bits == 0 ? 3 : exponent_bits == 1 ? 3 : 5 - exponent_bits;
  const int mantissa = magnitude & ((1 << mantissa_bits) - 1);
  int exponent = 0;
  if (exponent_bits > 0) {
    const int raw = (magnitude >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const int top = 1 << (exponent_bits - 1);
    const int size = top + (raw & (top - 1));
    exponent = (raw & top) != 0 ? -size : size;
  }
  return with_sign(bits, std::ldexp(1.0 + std::ldexp(mantissa, -mantissa_bits), exponent));
}

}  // namespace msrun
