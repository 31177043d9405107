// exp and tanh without branches, calls and tables, so that loops over them become vector code. The C library's
// functions are as exact, but called element by element. always_inline, because a call within a loop undoes all that.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace msrun {

namespace exponential_detail {

// e^x = 2^k e^r with |r| <= ln(2) / 2, e^r by its Taylor polynomial of the given degree. x must lie within +-1500 or be
// NaN. Gives e^r and sets k.
template <int degree>
[[gnu::always_inline]] inline double reduced_exponential(double x, std::int64_t& k) {
  constexpr double log2_e = 0x1.71547652b82fep0;
  // The high part has trailing zeros, so that k * ln2_high is exact.
  constexpr double ln2_high = 0x1.62e42feep-1;
  constexpr double ln2_low = 0x1.a39ef35793c76p-33;
  constexpr double to_integer = 0x1.8p52;  // the sum's last place is 1: its low bits are the rounded integer
  const double shifted = x * log2_e + to_integer;
  const double rounded = shifted - to_integer;
  k = std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(to_integer);
  const double r = (x - rounded * ln2_high) - rounded * ln2_low;
  constexpr double inverse_factorials[] = {1.0,
                                           1.0,
                                           0x1p-1,
                                           0x1.5555555555555p-3,
                                           0x1.5555555555555p-5,
                                           0x1.1111111111111p-7,
                                           0x1.6c16c16c16c17p-10,
                                           0x1.a01a01a01a01ap-13,
                                           0x1.a01a01a01a01ap-16,
                                           0x1.71de3a556c734p-19,
                                           0x1.27e4fb7789f5cp-22,
                                           0x1.ae64567f544e4p-26,
                                           0x1.1eed8eff8d898p-29,
                                           0x1.6124613a86d09p-33};
  double sum = inverse_factorials[degree];
  for (int i = degree - 1; i >= 0; --i) sum = sum * r + inverse_factorials[i];
  return sum;
}

// 2^k for -1022 <= k <= 1023.
[[gnu::always_inline]] inline double power_of_two(std::int64_t k) { return std::bit_cast<double>((k + 1023) << 52); }

}  // namespace exponential_detail

// Error below 1.1 units of the last place; gradual underflow, infinity above the range, NaN for NaN.
[[gnu::always_inline]] inline double exponential(double x) {
  x = x > 750 ? 750 : x;
  x = x < -800 ? -800 : x;
  std::int64_t k;
  const double sum = exponential_detail::reduced_exponential<13>(x, k);
  // Two factors, because 2^k alone may leave the range.
  const std::int64_t half = k >> 1;
  return sum * exponential_detail::power_of_two(half) * exponential_detail::power_of_two(k - half);
}

// Computed in double and rounded once.
[[gnu::always_inline]] inline float exponential(float value) {
  double x = value;
  x = x > 130 ? 130 : x;
  x = x < -150 ? -150 : x;
  std::int64_t k;
  const double sum = exponential_detail::reduced_exponential<8>(x, k);
  return static_cast<float>(sum * exponential_detail::power_of_two(k));
}

[[gnu::always_inline]] inline double hyperbolic_tangent(double x) { return std::tanh(x); }

[[gnu::always_inline]] inline float hyperbolic_tangent(float value) {
  const double x = std::abs(static_cast<double>(value));
  const double capped = x > 20 ? 20 : x;
  std::int64_t k;
  const double sum = exponential_detail::reduced_exponential<8>(-2 * capped, k);
  const double decay = sum * exponential_detail::power_of_two(k);
  // Near 0 the difference would cancel; there the series is exact enough.
  const double far = (1 - decay) / (1 + decay);
  const double near = x - x * x * x * (1.0 / 3.0);
  return std::copysign(static_cast<float>(x < 0x1p-10 ? near : far), value);
}

}  // namespace msrun
