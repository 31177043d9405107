// Element types of tensors: their names, sizes and families, and the conversions of the narrow float formats.
//
// Half, BFloat16 and the two float8 formats are storage only: arithmetic happens in float, see convert.h.
#pragma once

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace msrun {

enum class DType : std::uint8_t {
  boolean,
  uint8,
  int8,
  int16,
  int32,
  int64,
  float16,
  bfloat16,
  float32,
  float64,
  float8_e4m3fn,
  float8_e5m2,
  complex64,
  complex128,
};
inline constexpr int dtype_count = 14;

// Bytes of one element.
std::size_t size_of(DType dtype);

// "float32", "bool"; with torch_name the dump's spelling "torch.float32".
std::string_view name(DType dtype);
std::string_view torch_name(DType dtype);

// Accepts both spellings and torch's aliases (torch.float, torch.half, torch.long...); nothing for an unknown name.
std::optional<DType> parse_dtype(std::string_view text);

// float16, bfloat16, float32, float64, float8.
bool is_floating(DType dtype);
bool is_complex(DType dtype);
// uint8, int8 ... int64; not bool.
bool is_integer(DType dtype);
// float16 and bfloat16: stored narrow, computed in float32.
bool is_half(DType dtype);
bool is_float8(DType dtype);

// Largest finite value of a floating dtype.
double max_finite(DType dtype);

// Distance from 1 to the next larger value of a floating dtype.
double epsilon(DType dtype);

// torch's result dtype of two tensor operands of the same category of dimensionality.
DType promote(DType a, DType b);

// IEEE binary16 in 16 bits. Conversion from float rounds to nearest even, overflow gives infinity, NaN stays a quiet
// NaN.
struct Half {
  std::uint16_t bits;
};

// The upper 16 bits of a binary32, rounded to nearest even.
struct BFloat16 {
  std::uint16_t bits;
};

// OCP 8-bit formats: e4m3fn has no infinity and one NaN code per sign; overflow converts to NaN, as torch does.
struct Float8E4M3 {
  std::uint8_t bits;
};
struct Float8E5M2 {
  std::uint8_t bits;
};

inline float to_float(BFloat16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }

inline BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t quiet_nan = (bits >> 16) | 0x40U;
  return {static_cast<std::uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet_nan : rounded)};
}

// Branch-free, so that loops over them vectorise on every instruction set.
inline float to_float(Half value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(value.bits & 0x7FFFU) << 13;
  // Scaling by 2^112 moves the exponent bias from 15 to 127 and normalises subnormals; infinities and NaN keep the
  // all-ones exponent.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(scaled);
  const std::uint32_t special = magnitude | 0x7F800000U;
  return std::bit_cast<float>(sign | (magnitude >= (0x7C00U << 13) ? special : finite));
}

inline Half to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  // Normal results: round the 13 dropped bits to nearest even, then move the exponent bias.
  const std::uint32_t normal = (magnitude + 0xFFFU + ((magnitude >> 13) & 1U) - (112U << 23)) >> 13;
  // Below 2^-14: adding 0.5 lets the float adder do the rounding at the subnormal position.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
  std::uint32_t result = magnitude < (113U << 23) ? subnormal : normal;
  result = magnitude >= 0x477FF000U ? 0x7C00U : result;
  result = magnitude > 0x7F800000U ? (0x7E00U | ((magnitude >> 13) & 0x3FFU)) : result;
  return {static_cast<std::uint16_t>(sign | result)};
}

// to_float(to_half(value)), without the 16 bits between them.
inline float as_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const std::uint32_t normal = (magnitude + 0xFFFU + ((magnitude >> 13) & 1U)) & ~0x1FFFU;
  // Below 2^-14 the adder rounds to multiples of 2^-24, the last place of its result.
  const auto subnormal = std::bit_cast<std::uint32_t>((std::bit_cast<float>(magnitude) + 0.5F) - 0.5F);
  std::uint32_t result = magnitude < (113U << 23) ? subnormal : normal;
  result = magnitude >= 0x477FF000U ? 0x7F800000U : result;
  result = magnitude > 0x7F800000U ? ((magnitude & ~0x1FFFU) | 0x400000U) : result;
  return std::bit_cast<float>((bits & 0x80000000U) | result);
}

// to_float(to_bfloat16(value)), without the 16 bits between them.
inline float as_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) & ~0xFFFFU;
  const std::uint32_t quiet_nan = (bits & ~0xFFFFU) | 0x400000U;
  return std::bit_cast<float>((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet_nan : rounded);
}

float to_float(Float8E4M3 value);
float to_float(Float8E5M2 value);
Float8E4M3 to_float8_e4m3(float value);
Float8E5M2 to_float8_e5m2(float value);

// Calls f with a value-initialised element of the storage type of dtype (bool is stored as one byte, 0 or 1).
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::boolean:
      return f(bool{});
    case DType::uint8:
      return f(std::uint8_t{});
    case DType::int8:
      return f(std::int8_t{});
    case DType::int16:
      return f(std::int16_t{});
    case DType::int32:
      return f(std::int32_t{});
    case DType::int64:
      return f(std::int64_t{});
    case DType::float16:
      return f(Half{});
    case DType::bfloat16:
      return f(BFloat16{});
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    case DType::float8_e4m3fn:
      return f(Float8E4M3{});
    case DType::float8_e5m2:
      return f(Float8E5M2{});
    case DType::complex64:
      return f(std::complex<float>{});
    case DType::complex128:
      break;
  }
  return f(std::complex<double>{});
}

}  // namespace msrun
