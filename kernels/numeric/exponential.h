// exp, expm1 and tanh without branches, calls and tables, so that loops over them become vector code. The C library's
// functions are as exact, but called element by element. always_inline, because a call within a loop undoes all that.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace msrun {

namespace exponential_detail {

// e^x = 2^k e^r with |r| <= ln(2) / 2. x must lie within +-1500 or be NaN. Gives r and sets k
// and what the rounding of r lost.
[[gnu::always_inline]] inline double reduced_argument(double x, std::int64_t& k, double* tail = nullptr) {
  constexpr double log2_e = 0x1.71547652b82fep0;
  // The high part has trailing zeros, so that k * ln2_high is exact.
  constexpr double ln2_high = 0x1.62e42feep-1;
  constexpr double ln2_low = 0x1.a39ef35793c76p-33;
  constexpr double to_integer = 0x1.8p52;  // the sum's last place is 1: its low bits are the rounded integer
  const double shifted = x * log2_e + to_integer;
  const double rounded = shifted - to_integer;
  k = std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(to_integer);
  const double high = x - rounded * ln2_high;
  const double r = high - rounded * ln2_low;
  if (tail != nullptr) *tail = (high - r) - rounded * ln2_low;
  return r;
}

// Taylor polynomial of the given degree: e^r for shift 0, (e^r - 1) / r for shift 1.
template <int degree, int shift>
[[gnu::always_inline]] inline double series(double r) {
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
  for (int i = degree - 1; i >= shift; --i) sum = sum * r + inverse_factorials[i];
  return sum;
}

template <int degree>
[[gnu::always_inline]] inline double reduced_exponential(double x, std::int64_t& k) {
  return series<degree, 0>(reduced_argument(x, k));
}

// e^x for |x| <= 200, to 32 bits: what a float result needs. One step of reduction is exact enough for it.
[[gnu::always_inline]] inline double narrow(double x) {
  constexpr double log2_e = 0x1.71547652b82fep0;
  constexpr double ln2 = 0x1.62e42fefa39efp-1;
  constexpr double to_integer = 0x1.8p52;
  const double shifted = x * log2_e + to_integer;
  const double r = x - (shifted - to_integer) * ln2;
  // The low bits of the sum are k; the shift drops the others.
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(shifted) << 52;
  return series<8, 0>(r) * std::bit_cast<double>(bits + std::bit_cast<std::uint64_t>(1.0));
}

// 2^k for -1022 <= k <= 1023.
[[gnu::always_inline]] inline double power_of_two(std::int64_t k) { return std::bit_cast<double>((k + 1023) << 52); }

// e^x - 1 for |x| <= 100, and what its rounding lost.
[[gnu::always_inline]] inline double minus_one(double x, double& low) {
  std::int64_t k;
  double tail;
  const double r = reduced_argument(x, k, &tail);
  const double scale = power_of_two(k);
  tail += r * (r * series<13, 2>(r));
  // Three parts, 2^k - 1, 2^k r and 2^k tail, of which the first two cancel: what their sum loses is kept.
  const double sum = (scale - 1) + scale * r;
  const double lost = scale * r - (sum - (scale - 1));
  const double rest = lost + scale * tail;
  const double result = sum + rest;
  low = rest - (result - sum);
  return result;
}

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
  // Clamped while it is a float: twice as many fit a register.
  const float capped = 130.0F < value ? 130.0F : value;
  return static_cast<float>(exponential_detail::narrow(-150.0F > capped ? -150.0F : capped));
}

// e^x - 1. Error below 1.2 units of the last place.
[[gnu::always_inline]] inline double exponential_minus_one(double x) {
  // Outside of these bounds e^x or -1 is the answer.
  constexpr double bound = 60;
  double capped = x > bound ? bound : x;
  capped = capped < -bound ? -bound : capped;
  double low;
  const double result = exponential_detail::minus_one(capped, low);
  return x > bound ? exponential(x) : x == 0 ? x : result;
}

// Computed in double and rounded once.
[[gnu::always_inline]] inline float exponential_minus_one(float value) {
  double x = value;
  x = x > 130 ? 130 : x;
  x = x < -60 ? -60 : x;
  std::int64_t k;
  const double r = exponential_detail::reduced_argument(x, k);
  const double scale = exponential_detail::power_of_two(k);
  const double result = scale * (r * exponential_detail::series<9, 1>(r)) + (scale - 1);
  return value == 0 ? value : static_cast<float>(result);
}

// Error below 1.5 units of the last place.
[[gnu::always_inline]] inline double hyperbolic_tangent(double x) {
  const double size = std::abs(x);
  double low;
  const double decay = exponential_detail::minus_one(-2 * (size > 30 ? 30 : size), low);  // e^(-2|x|) - 1
  const double divisor = 2 + decay;
  const double quotient = -decay / divisor;
  // The roundings of both operands, whose quotient this was; 1 / divisor is (1 + quotient) / 2.
  const double lost = quotient * (decay - (divisor - 2)) + low * (1 + quotient);
  const double result = std::copysign(quotient - 0.5 * (1 + quotient) * lost, x);
  return x == x ? result : x;
}

[[gnu::always_inline]] inline float hyperbolic_tangent(float value) {
  const double x = std::abs(static_cast<double>(value));
  const double capped = x > 20 ? 20 : x;
  const double decay = exponential_detail::narrow(-2 * capped);
  // Near 0 the difference would cancel; there the series is exact enough.
  const double far = (1 - decay) / (1 + decay);
  const double near = x - x * x * x * (1.0 / 3.0);
  return std::copysign(static_cast<float>(x < 0x1p-10 ? near : far), value);
}

}  // namespace msrun
