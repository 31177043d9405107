// erf without branches and calls, for loops that become vector code; see exponential.h.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace msrun {

namespace error_function_detail {

inline constexpr int per_unit = 64;  // table entries per unit of x
inline constexpr double end = 6;     // erf is 1 from here on, in double

// erf and its derivative at i / per_unit.
inline constexpr std::size_t table_size = per_unit * 6 + 1;
extern const std::array<double, table_size> value;
extern const std::array<double, table_size> slope;

// erf(|x|) as value(a) + slope(a) h (1 - a h + ...), where a is the nearest point of the table, h = |x| - a. The
// coefficients of erf's Taylor series are slope(a) times Hermite polynomials of a.
template <int terms>
[[gnu::always_inline]] inline double magnitude(double x) {
  constexpr double to_integer = 0x1.8p52;
  const double capped = x < end ? x : end;
  const double shifted = capped * per_unit + to_integer;
  const std::int64_t index = std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(to_integer);
  const double a = (shifted - to_integer) * (1.0 / per_unit);
  const double h = capped - a;
  // erf^(n+1)(a) / (n+1)! = slope * c_n with c_0 = 1, c_1 = -a, c_n = -2 (a c_{n-1} + (n-1)/n c_{n-2}) / (n+1).
  std::array<double, terms> c{};
  c[0] = 1;
  c[1] = -a;
  for (int n = 2; n < terms; ++n) {
    const auto at = static_cast<std::size_t>(n);
    c[at] = a * c[at - 1] * (-2.0 / (n + 1)) + c[at - 2] * (-2.0 * (n - 1) / (n * (n + 1.0)));
  }
  double sum = c[terms - 1];
  for (int n = terms - 2; n > 0; --n) sum = sum * h + c[static_cast<std::size_t>(n)];
  const auto at = static_cast<std::size_t>(index);
  const double step = slope[at] * h;
  return value[at] + (step + step * (sum * h));
}

}  // namespace error_function_detail

// Error below 1.6 units of the last place.
[[gnu::always_inline]] inline double error_function(double x) {
  const double result = std::copysign(error_function_detail::magnitude<8>(std::abs(x)), x);
  return x == x ? result : x;
}

// Computed in double and rounded once.
[[gnu::always_inline]] inline float error_function(float value) {
  const double x = value;
  const double result = std::copysign(error_function_detail::magnitude<4>(std::abs(x)), x);
  return value == value ? static_cast<float>(result) : value;
}

}  // namespace msrun
