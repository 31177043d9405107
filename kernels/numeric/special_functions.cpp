#include "kernels/numeric/special_functions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace msrun {
namespace {

// q > 0: some terms of the sum, then the Euler-Maclaurin formula for the rest.
double positive_zeta(double s, double q) {
  double sum = 0;
  const double enough = 12 + std::min(s, 200.0);
  for (; q < enough; q += 1) sum += std::pow(q, -s);
  // Bernoulli numbers B(2k) / (2k)!.
  constexpr double coefficients[] = {
      1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000, 1.0 / 74724249600};
  const double power = std::pow(q, -s);
  sum += q * power / (s - 1) + power / 2;
  double factor = s * power / q;
  double next = s + 1;
  for (const double coefficient : coefficients) {
    sum += coefficient * factor;
    factor *= next * (next + 1) / (q * q);
    next += 2;
  }
  return sum;
}

// x^a e^-x / Gamma(a).
double gamma_weight(double a, double x) { return std::exp(a * std::log(x) - x - log_gamma(a)); }

// The lower function for x < a + 1, by its power series.
double gamma_series(double a, double x) {
  double term = 1 / a;
  double sum = term;
  for (double n = 1; n < 1e5 && term > sum * 1e-17; n += 1) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * gamma_weight(a, x);
}

// The upper function for x >= a + 1, by its continued fraction.
double gamma_fraction(double a, double x) {
  constexpr double tiny = 1e-300;
  double b = x + 1 - a;
  double c = 1 / tiny;
  double d = 1 / b;
  double product = d;
  for (double n = 1; n < 1e5; n += 1) {
    const double numerator = -n * (n - a);
    b += 2;
    d = numerator * d + b;
    d = 1 / (std::abs(d) < tiny ? tiny : d);
    c = b + numerator / c;
    c = std::abs(c) < tiny ? tiny : c;
    const double factor = c * d;
    product *= factor;
    if (std::abs(factor - 1) < 1e-16) break;
  }
  return product * gamma_weight(a, x);
}

// Both functions for large a, where series would be long: the leading terms of the uniform expansion in 1 / a. upper is
// 1 for the upper function, -1 for the lower one.
double gamma_large(double a, double x, double upper) {
  const double mu = (x - a) / a;
  const double eta = std::copysign(std::sqrt(2 * (mu - std::log1p(mu))), mu);
  const double correction = std::abs(mu) < 1e-5 ? -1.0 / 3 : 1 / mu - 1 / eta;
  const double density = std::exp(-a * eta * eta / 2) / std::sqrt(2 * std::numbers::pi * a);
  return std::erfc(upper * eta * std::sqrt(a / 2)) / 2 + upper * density * correction;
}

constexpr double large_order = 1e6;

}  // namespace

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

double hurwitz_zeta(double s, double q) {
  if (std::isnan(q)) return q;
  if (q > 0) return std::isinf(q) ? 0 : positive_zeta(s, q);
  if (q == std::floor(q)) return std::numeric_limits<double>::infinity();
  // The terms below 0 are those above it mirrored at 0, but for the ones beyond q.
  const double above = q - std::floor(q);
  const double sign = std::fmod(s, 2) == 0 ? 1 : -1;
  return positive_zeta(s, above) + sign * (positive_zeta(s, 1 - above) - positive_zeta(s, 1 - q));
}

double polygamma(std::int64_t n, double x) {
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma(x);
  const auto order = static_cast<double>(n);
  return (n % 2 == 1 ? 1 : -1) * std::exp(log_gamma(order + 1)) * hurwitz_zeta(order + 1, x);
}

double gamma_p(double a, double x) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (!(a >= 0 && x >= 0)) return nan;
  if (a == 0) return x > 0 ? 1 : nan;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? nan : 0;
  if (std::isinf(x)) return 1;
  if (a > large_order) return gamma_large(a, x, -1);
  return x < a + 1 ? gamma_series(a, x) : 1 - gamma_fraction(a, x);
}

double gamma_q(double a, double x) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (!(a >= 0 && x >= 0)) return nan;
  if (a == 0) return x > 0 ? 0 : nan;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? nan : 1;
  if (std::isinf(x)) return 0;
  if (a > large_order) return gamma_large(a, x, 1);
  return x < a + 1 ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
}

namespace {

// Below 20 the power series, of positive terms only; above it the asymptotic series, whose smallest term is below the
// precision of double there.
double bessel(double x, double order) {
  const double magnitude = std::abs(x);
  if (std::isnan(x)) return x;
  const double sign = order == 1 && x < 0 ? -1 : 1;
  double sum = 1;
  double term = 1;
  if (magnitude < 20) {
    const double quarter = magnitude * magnitude / 4;
    for (double k = 1; term > sum * 1e-18; k += 1) {
      term *= quarter / (k * (k + order));
      sum += term;
    }
    return order == 1 ? sign * sum * magnitude / 2 : sum;
  }
  for (double k = 1; k < 40 && std::abs(term) > 1e-18; k += 1) {
    term *= -(4 * order * order - (2 * k - 1) * (2 * k - 1)) / (8 * k * magnitude);
    sum += term;
  }
  // In two factors, so that no intermediate result overflows before the function does.
  const double half = std::exp(magnitude / 2);
  return sign * half * (half / std::sqrt(2 * std::numbers::pi * magnitude)) * sum;
}

}  // namespace

double bessel_i0(double x) { return bessel(x, 0); }
double bessel_i1(double x) { return bessel(x, 1); }

}  // namespace msrun
