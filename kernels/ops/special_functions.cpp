#include "kernels/ops/special_functions.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace msrun {

double erf_inverse(double y) {
  if (std::isnan(y) || std::abs(y) > 1) return std::numeric_limits<double>::quiet_NaN();
  if (std::abs(y) == 1) return std::copysign(std::numeric_limits<double>::infinity(), y);
  const double target = std::abs(y);
  if (target < 1e-9) return y * 0.5 / std::numbers::inv_sqrtpi;
  // A closed approximation good to 0.4 %, then steps of Halley's method, each of which triples the number of digits.
  constexpr double a = 0.147;
  const double log_term = std::log1p(-target * target);
  const double half = 2 / (std::numbers::pi * a) + log_term / 2;
  double x = std::sqrt(std::sqrt(half * half - log_term / a) - half);
  for (int step = 0; step < 3; ++step) {
    // Near 1 the complement keeps the digits.
    const double error = target > 0.5 ? (1 - target) - std::erfc(x) : std::erf(x) - target;
    const double newton = error / (2 * std::numbers::inv_sqrtpi * std::exp(-x * x));
    x -= newton / (1 + x * newton);
  }
  return std::copysign(x, y);
}

double log_gamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

double digamma(double x) {
  constexpr double pi = std::numbers::pi;
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (std::isinf(x)) return x > 0 ? x : std::numeric_limits<double>::quiet_NaN();
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    return digamma(1 - x) - pi / std::tan(pi * (x - std::floor(x)));
  }
  double shift = 0;
  for (; x < 10; x += 1) shift -= 1 / x;
  const double z = 1 / (x * x);
  // Bernoulli numbers B(2k) / 2k.
  const double series =
      z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760))))));
  return shift + std::log(x) - 0.5 / x - series;
}

double trigamma(double x) {
  constexpr double pi = std::numbers::pi;
  if (x <= 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::infinity();
    const double sine = std::sin(pi * (x - std::floor(x)));
    return pi * pi / (sine * sine) - trigamma(1 - x);
  }
  double sum = 0;
  for (; x < 10; x += 1) sum += 1 / (x * x);
  const double z = 1 / (x * x);
  // Bernoulli numbers B(2k).
  const double series =
      1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42 - z * (1.0 / 30 - z * (5.0 / 66 - z * (691.0 / 2730)))));
  return sum + 1 / x + z / 2 + z / x * series;
}

}  // namespace msrun
