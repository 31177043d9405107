#include "kernels/io/ge_types.h"

#include <cmath>
#include <limits>

namespace msrun {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();

double with_sign(std::uint8_t bits, double magnitude) { return (bits & 0x80) != 0 ? -magnitude : magnitude; }

}  // namespace

std::optional<GeType> ge_type(std::int32_t code) {
  switch (code) {
    case ge_undefined:
    case 3:
      return GeType{NumpyType::int8};
    case 1:
      return GeType{NumpyType::float32};
    case 2:
      return GeType{NumpyType::float16};
    case 4:
      return GeType{NumpyType::uint8};
    case 5:
      return GeType{NumpyType::int16};
    case 6:
      return GeType{NumpyType::uint16};
    case 7:
      return GeType{NumpyType::int32};
    case 8:
    case 23:  // a handle
      return GeType{NumpyType::int64};
    case 9:
      return GeType{NumpyType::uint32};
    case 10:
      return GeType{NumpyType::uint64};
    case 11:
      return GeType{NumpyType::boolean};
    case 12:
      return GeType{NumpyType::float64};
    case 16:
      return GeType{NumpyType::complex64};
    case 17:
      return GeType{NumpyType::complex128};
    case 27:
      return GeType{NumpyType::float32, Encoding::bfloat16};
    case 28:
      return GeType{NumpyType::int8, Encoding::int4};
    case 29:
      return GeType{NumpyType::uint8, Encoding::bit};
    case 33:
      return GeType{NumpyType::float64, Encoding::hifloat8};
    case 34:
      return GeType{NumpyType::float64, Encoding::float8_e5m2};
    case 35:
      return GeType{NumpyType::float64, Encoding::float8_e4m3fn};
    default:
      return std::nullopt;
  }
}

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
