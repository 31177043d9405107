// Functions of mathematics that the standard library does not have or not safely, in double.
#pragma once

#include <cstdint>

namespace msrun {

// The x with erf(x) = y; +-infinity at +-1, NaN beyond.
double erf_inverse(double y);

// ln |Gamma(x)|, without the global variable that std::lgamma writes.
double log_gamma(double x);

// The first and second derivative of ln Gamma. digamma is NaN at the negative integers and -+infinity at +-0.
double digamma(double x);
double trigamma(double x);
// As torch has it: at the poles below 0 a number, because the sine of a multiple of pi that is rounded, to float32 or
// to float64, is not 0.
double trigamma_beside_poles(double x, bool in_float32);
// As frameworks have it in float64, too: by a series that is cut for float32, which leaves some 2e-9.
double trigamma_cut_short(double x);

// Derivative n of digamma, n >= 0.
double polygamma(std::int64_t n, double x);

// The sum of (q + k)^-s over all k >= 0, for whole s >= 2; infinite at the integers up to 0.
double hurwitz_zeta(double s, double q);

// The lower and the upper incomplete gamma function of order a at x, each divided by Gamma(a): they add up to 1. NaN
// for negative arguments and where the limit is not defined.
double gamma_p(double a, double x);
double gamma_q(double a, double x);

// Modified Bessel functions of the first kind, of order 0 and 1.
double bessel_i0(double x);
double bessel_i1(double x);

}  // namespace msrun
