#include "kernels/numeric/special_functions.h"

#include <algorithm>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>

namespace msrun {
namespace {

// Boost.Math serves where it is the more exact: digamma and trigamma (near their roots by orders of magnitude), the
// incomplete gamma functions of order up to large_order, and the Bessel functions. Written here is what it lacks, as
// Hurwitz's zeta function and with it polygamma, which for negative arguments is more exact this way, and what is
// better here or in the C library: erf_inverse (1.4 ULP at most, Boost 2.6) and log_gamma.
//
// Arguments outside of the domain are handled before; what else goes wrong gives infinity or NaN, never an exception.
namespace policies = boost::math::policies;
using Quiet = policies::policy<
    policies::domain_error<policies::ignore_error>, policies::pole_error<policies::ignore_error>,
    policies::overflow_error<policies::ignore_error>, policies::underflow_error<policies::ignore_error>,
    policies::denorm_error<policies::ignore_error>, policies::rounding_error<policies::ignore_error>,
    policies::evaluation_error<policies::ignore_error>, policies::indeterminate_result_error<policies::ignore_error>,
    policies::promote_float<false>, policies::promote_double<false>>;

// q > 0: some terms of the sum, then the Euler-Maclaurin formula for the rest.
double positive_zeta(double s, double q) {
  double sum = 0;
  const double enough = 12 + std::min(s, 200.0);
  while (q < enough) {
    sum += std::pow(q, -s);
    q += 1;
  }
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

// Both functions for large a, where series would be long: the leading terms of the uniform expansion in 1 / a. upper is
// 1 for the upper function, -1 for the lower one. Boost takes some 100 microseconds there and loses more digits.
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
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return x > 0 ? x : std::numeric_limits<double>::quiet_NaN();
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    // The distance to the nearest pole is exact; 1 - x and x - floor(x) are not for x near 0.
    return digamma(1 - x) - pi / std::tan(pi * (x - std::nearbyint(x)));
  }
  return boost::math::digamma(x, Quiet());
}

double trigamma(double x) {
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return x > 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
  if (x <= 0 && x == std::floor(x)) return std::numeric_limits<double>::infinity();
  return boost::math::trigamma(x, Quiet());
}

double trigamma_beside_poles(double x, bool in_float32) {
  if (!(x < 0) || std::isinf(x) || x != std::floor(x)) return trigamma(x);
  constexpr double pi = std::numbers::pi;
  const double sine = in_float32 ? std::sin(std::numbers::pi_v<float> * static_cast<float>(x)) : std::sin(pi * x);
  return pi * pi / (sine * sine);
}

double trigamma_cut_short(double x) {
  if (!std::isfinite(x) || (x <= 0 && x == std::floor(x))) return trigamma(x);
  constexpr double pi = std::numbers::pi;
  double mirrored = 0;
  const bool mirror = x < 0.5;
  if (mirror) {
    const double sine = std::sin(pi * x);
    mirrored = pi * pi / (sine * sine);
    x = 1 - x;
  }
  double sum = 0;
  for (int term = 0; term < 6; ++term, x += 1) sum += 1 / (x * x);
  const double square = 1 / (x * x);
  sum += (1 + 1 / (2 * x) + square * (1.0 / 6 - square * (1.0 / 30 - square / 42))) / x;
  return mirror ? mirrored - sum : sum;
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
  if (x == 0) return a == 0 ? nan : 0;
  if (a < std::numeric_limits<double>::min()) return 1;
  if (std::isinf(a)) return std::isinf(x) ? nan : 0;
  if (std::isinf(x)) return 1;
  if (a > large_order) return gamma_large(a, x, -1);
  return boost::math::gamma_p(a, x, Quiet());
}

double gamma_q(double a, double x) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (!(a >= 0 && x >= 0)) return nan;
  if (x == 0) return a == 0 ? nan : 1;
  if (a < std::numeric_limits<double>::min()) return 0;
  if (std::isinf(a)) return std::isinf(x) ? nan : 1;
  if (std::isinf(x)) return 0;
  if (a > large_order) return gamma_large(a, x, 1);
  return boost::math::gamma_q(a, x, Quiet());
}

namespace {

// As in torch, infinity gives NaN.
double bessel(int order, double x) {
  if (!std::isfinite(x)) return std::numeric_limits<double>::quiet_NaN();
  const double value = boost::math::cyl_bessel_i(order, std::abs(x), Quiet());
  return order == 1 && x < 0 ? -value : value;
}

}  // namespace

double bessel_i0(double x) { return bessel(0, x); }
double bessel_i1(double x) { return bessel(1, x); }

}  // namespace msrun
