#include "kernels/tensor/dtype.h"

#include <array>
#include <cmath>
#include <limits>

namespace msrun {
namespace {

struct Entry {
  std::string_view torch_name;
  std::size_t size;
};

constexpr std::array<Entry, dtype_count> entries{{
    {"torch.bool", 1},
    {"torch.uint8", 1},
    {"torch.int8", 1},
    {"torch.int16", 2},
    {"torch.int32", 4},
    {"torch.int64", 8},
    {"torch.float16", 2},
    {"torch.bfloat16", 2},
    {"torch.float32", 4},
    {"torch.float64", 8},
    {"torch.float8_e4m3fn", 1},
    {"torch.float8_e5m2", 1},
    {"torch.complex64", 8},
    {"torch.complex128", 16},
}};

struct Alias {
  std::string_view text;
  DType dtype;
};

constexpr std::array aliases{
    Alias{"float", DType::float32},    Alias{"double", DType::float64},     Alias{"half", DType::float16},
    Alias{"long", DType::int64},       Alias{"int", DType::int32},          Alias{"short", DType::int16},
    Alias{"cfloat", DType::complex64}, Alias{"cdouble", DType::complex128},
};

constexpr std::string_view prefix = "torch.";

// Value of an 8-bit float with the given split; e4m3fn has no infinity, its all-ones code is NaN.
float decode_float8(std::uint8_t bits, int mantissa_bits, int bias, bool has_infinity) {
  const int exponent_bits = 7 - mantissa_bits;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const float sign = (bits & 0x80) != 0 ? -1.0F : 1.0F;
  const bool all_ones = exponent == (1 << exponent_bits) - 1;
  if (has_infinity && all_ones) {
    return mantissa == 0 ? sign * std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  }
  if (!has_infinity && (bits & 0x7F) == 0x7F) return std::numeric_limits<float>::quiet_NaN();
  const float fraction = std::ldexp(static_cast<float>(mantissa), -mantissa_bits);
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1.0F + fraction, exponent - bias));
}

std::uint8_t encode_float8(float value, int mantissa_bits, int bias, float max_value, std::uint8_t overflow_code) {
  const std::uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint8_t>(sign | 0x7F);
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude in [2^(exponent-1), 2^exponent)
  const int unit = std::max(exponent - 1, 1 - bias) - mantissa_bits;
  const float rounded = std::nearbyint(std::ldexp(magnitude, -unit));
  const float result = std::ldexp(rounded, unit);
  if (result > max_value || std::isinf(magnitude)) return static_cast<std::uint8_t>(sign | overflow_code);
  if (result == 0) return sign;
  std::frexp(result, &exponent);
  const int biased = exponent - 1 + bias;
  const auto mantissa_field = [&](int unit_exponent) {
    return static_cast<int>(std::ldexp(result, mantissa_bits - unit_exponent)) & ((1 << mantissa_bits) - 1);
  };
  const int code = biased <= 0 ? mantissa_field(1 - bias) : (biased << mantissa_bits) | mantissa_field(exponent - 1);
  return static_cast<std::uint8_t>(sign | code);
}

}  // namespace

std::size_t size_of(DType dtype) { return entries[static_cast<std::size_t>(dtype)].size; }

std::string_view torch_name(DType dtype) { return entries[static_cast<std::size_t>(dtype)].torch_name; }

std::string_view name(DType dtype) { return torch_name(dtype).substr(prefix.size()); }

std::optional<DType> parse_dtype(std::string_view text) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  for (int i = 0; i < dtype_count; ++i) {
    if (name(static_cast<DType>(i)) == text) return static_cast<DType>(i);
  }
  for (const Alias& alias : aliases) {
    if (alias.text == text) return alias.dtype;
  }
  return std::nullopt;
}

bool is_float8(DType dtype) { return dtype == DType::float8_e4m3fn || dtype == DType::float8_e5m2; }
bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }
bool is_complex(DType dtype) { return dtype == DType::complex64 || dtype == DType::complex128; }
bool is_integer(DType dtype) { return dtype >= DType::uint8 && dtype <= DType::int64; }
bool is_floating(DType dtype) { return dtype >= DType::float16 && dtype <= DType::float8_e5m2; }

double max_finite(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 65504;
    case DType::bfloat16:
      return 3.3895313892515355e38;
    case DType::float64:
      return std::numeric_limits<double>::max();
    case DType::float8_e4m3fn:
      return 448;
    case DType::float8_e5m2:
      return 57344;
    default:
      return static_cast<double>(std::numeric_limits<float>::max());
  }
}

double epsilon(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 0x1p-10;
    case DType::bfloat16:
      return 0x1p-7;
    case DType::float64:
      return 0x1p-52;
    case DType::float8_e4m3fn:
      return 0x1p-3;
    case DType::float8_e5m2:
      return 0x1p-2;
    default:
      return 0x1p-23;
  }
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_complex(a) || is_complex(b)) {
    const bool wide = a == DType::complex128 || b == DType::complex128 || a == DType::float64 || b == DType::float64;
    return wide ? DType::complex128 : DType::complex64;
  }
  if (is_floating(a) || is_floating(b)) {
    if (!is_floating(a)) return b;
    if (!is_floating(b)) return a;
    if (is_float8(a)) return b;
    if (is_float8(b)) return a;
    if (is_half(a) && is_half(b)) return DType::float32;
    return std::max(a, b);
  }
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  if (a == DType::uint8 || b == DType::uint8) {
    const DType other = a == DType::uint8 ? b : a;
    return other == DType::int8 ? DType::int16 : other;
  }
  return std::max(a, b);
}

float to_float(Float8E4M3 value) { return decode_float8(value.bits, 3, 7, false); }
float to_float(Float8E5M2 value) { return decode_float8(value.bits, 2, 15, true); }
Float8E4M3 to_float8_e4m3(float value) { return {encode_float8(value, 3, 7, 448.0F, 0x7F)}; }
Float8E5M2 to_float8_e5m2(float value) { return {encode_float8(value, 2, 15, 57344.0F, 0x7C)}; }

}  // namespace msrun
