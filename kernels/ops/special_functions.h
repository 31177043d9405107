// Functions of mathematics that the standard library does not have or not safely, in double.
#pragma once

namespace msrun {

// The x with erf(x) = y; +-infinity at +-1, NaN beyond.
double erf_inverse(double y);

// ln |Gamma(x)|, without the global variable that std::lgamma writes.
double log_gamma(double x);

// The first and second derivative of ln Gamma. digamma is NaN at the negative integers and -+infinity at +-0.
double digamma(double x);
double trigamma(double x);

}  // namespace msrun
