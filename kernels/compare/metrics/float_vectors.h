// Vectors of floats and doubles as wide as the processor's that this is compiled for, and what dump_metrics.cpp does
// with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/tensor/vector_bytes.h"

namespace msrun {

constexpr std::size_t wide = vector_bytes / sizeof(float);     // floats of a vector
constexpr std::size_t narrow = vector_bytes / sizeof(double);  // doubles of a vector
using Floats = float __attribute__((vector_size(vector_bytes)));
using HalfFloats = float __attribute__((vector_size(vector_bytes / 2)));
using Ints = std::int32_t __attribute__((vector_size(vector_bytes)));
using Doubles = double __attribute__((vector_size(vector_bytes)));

[[gnu::always_inline]] inline Floats load(const float* from) {
  Floats result;
  std::memcpy(&result, from, sizeof result);
  return result;
}

[[gnu::always_inline]] inline void store(float* to, Floats value) { std::memcpy(to, &value, sizeof value); }

[[gnu::always_inline]] inline Doubles load_as_double(const float* from) {
  HalfFloats result;
  std::memcpy(&result, from, sizeof result);
  return __builtin_convertvector(result, Doubles);
}

[[gnu::always_inline]] inline Ints bits(Floats value) { return reinterpret_cast<Ints>(value); }
[[gnu::always_inline]] inline Floats from_bits(Ints value) { return reinterpret_cast<Floats>(value); }
[[gnu::always_inline]] inline Floats magnitude(Floats value) { return from_bits(bits(value) & 0x7FFFFFFF); }
[[gnu::always_inline]] inline Floats larger(Floats a, Floats b) { return a > b ? a : b; }
[[gnu::always_inline]] inline Floats smaller(Floats a, Floats b) { return a < b ? a : b; }
[[gnu::always_inline]] inline Floats broadcast(float value) { return Floats{} + value; }

// e^x for x <= 0, relative error below 2e-7; 0 below -87, where float32 has no normal numbers.
[[gnu::always_inline]] inline Floats exponential(Floats x) {
  const Ints tiny = x < -87.0F;
  const Floats bounded = tiny ? broadcast(-87.0F) : x;
  // x = n * log(2) + r with |r| <= log(2) / 2; adding 1.5 * 2^23 rounds to an integer, which then lies in the low bits.
  const Floats shifted = bounded * 1.44269504F + 12582912.0F;
  const Floats n = shifted - 12582912.0F;
  const Floats r = (bounded - n * 0.693359375F) - n * -2.12194440e-4F;
  Floats p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  const Ints exponent = (bits(shifted) - 0x4B400000) << 23;
  const Floats result = from_bits(bits(p) + exponent);
  return tiny ? Floats{} : result;
}

}  // namespace msrun
