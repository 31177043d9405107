// log, log1p and log2 without branches, calls and tables, for loops that become vector code; see exponential.h.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace msrun {

namespace logarithm_detail {

// A positive normal number as 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), and log(1 + f) = f - f^2/2 + rest.
struct Parts {
  double k;
  double f;
  double half_square;  // f^2 / 2
  double rest;         // s (f^2/2 + 2 s^2 (s^2/3 ...)) with s = f / (2 + f)
};

// log((1 + s) / (1 - s)) = 2 (s + s^3/3 + s^5/5 ...), with |s| <= 0.172; `terms` of them after the first.
template <int terms>
[[gnu::always_inline]] inline Parts parts_of(double x) {
  constexpr std::uint64_t one = 0x3FF0000000000000;
  constexpr std::uint64_t sqrt_half = 0x3FE6A09E667F3BCD;
  // Shifting the exponent so that mantissas from sqrt(1/2) on belong to the next power of two.
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) + (one - sqrt_half);
  const std::uint64_t exponent = bits >> 52;
  const double mantissa = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFF) + sqrt_half);
  // The exponent as a double: exponents are small, so that the bits of 2^52 + exponent are those of 2^52 plus it.
  constexpr double base = 0x1p52;
  const double biased = std::bit_cast<double>(std::bit_cast<std::uint64_t>(base) + exponent) - base;
  Parts parts;
  parts.k = biased - 1023;
  parts.f = mantissa - 1;
  const double s = parts.f / (2 + parts.f);
  const double square = s * s;
  double series = 2.0 / (2 * terms + 1);
  for (int i = terms - 1; i > 0; --i) series = series * square + 2.0 / (2 * i + 1);
  parts.half_square = 0.5 * parts.f * parts.f;
  parts.rest = s * (parts.half_square + series * square);
  return parts;
}

constexpr double ln2_high = 0x1.62e42feep-1;  // times any exponent it is exact
constexpr double ln2_low = 0x1.a39ef35793c76p-33;

// What the logarithm is for the arguments without an exponent of their own.
template <class T>
[[gnu::always_inline]] inline T special(T x, T result) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  result = x == infinity ? infinity : result;
  result = x == 0 ? -infinity : result;
  return x >= 0 ? result : std::numeric_limits<T>::quiet_NaN();
}

}  // namespace logarithm_detail

// Error below 1 unit of the last place.
[[gnu::always_inline]] inline double logarithm(double x) {
  const bool subnormal = x < std::numeric_limits<double>::min();
  const auto parts = logarithm_detail::parts_of<10>(subnormal ? x * 0x1p54 : x);
  const double k = subnormal ? parts.k - 54 : parts.k;
  const double low = parts.rest + k * logarithm_detail::ln2_low;
  const double result = k * logarithm_detail::ln2_high - ((parts.half_square - low) - parts.f);
  return logarithm_detail::special(x, result);
}

// Computed in double and rounded once.
[[gnu::always_inline]] inline float logarithm(float value) {
  const auto parts = logarithm_detail::parts_of<5>(static_cast<double>(value));
  const double ln2 = logarithm_detail::ln2_high + logarithm_detail::ln2_low;
  const double result = parts.k * ln2 + (parts.f - (parts.half_square - parts.rest));
  return logarithm_detail::special(value, static_cast<float>(result));
}

// log(1 + x), exact for small x too. Error below 2 units of the last place.
[[gnu::always_inline]] inline double logarithm_of_one_plus(double x) {
  const double sum = 1 + x;
  // What the sum lost, as a part of it; nothing to correct where x alone counts.
  const double lost = x > 1 ? 1 - (sum - x) : x - (sum - 1);
  const auto parts = logarithm_detail::parts_of<10>(sum);
  const double low = parts.rest + (parts.k * logarithm_detail::ln2_low + lost / sum);
  const double result = parts.k * logarithm_detail::ln2_high - ((parts.half_square - low) - parts.f);
  return std::abs(x) < 0x1p-60 ? x : logarithm_detail::special(sum, result);
}

[[gnu::always_inline]] inline float logarithm_of_one_plus(float value) {
  const double x = value;
  const double sum = 1 + x;
  const double lost = x - (sum - 1);
  const auto parts = logarithm_detail::parts_of<5>(sum);
  const double ln2 = logarithm_detail::ln2_high + logarithm_detail::ln2_low;
  const double result = parts.k * ln2 + (parts.f - (parts.half_square - (parts.rest + lost)));
  const float special = logarithm_detail::special(static_cast<float>(sum), static_cast<float>(result));
  return std::abs(value) < 0x1p-60F ? value : special;
}

}  // namespace msrun
