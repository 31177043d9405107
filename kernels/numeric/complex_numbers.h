// Functions of one or two complex numbers, and their namesakes for real ones, so that one lambda of the elementwise
// engine serves both. Included by operator files only.
#pragma once

#include <cmath>
#include <complex>
#include <limits>

#include "kernels/tensor/elementwise_map.h"

namespace msrun {

// x / y. The complex one scales by the larger part of y, as torch does, so that only a quotient that is itself too
// large overflows; by zero it divides both parts.
template <class T>
T quotient(T x, T y) {
  if constexpr (is_complex_number<T>) {
    const double c = y.real();
    const double d = y.imag();
    if (c == 0 && d == 0) return {x.real() / std::abs(c), x.imag() / std::abs(d)};
    if (std::abs(c) >= std::abs(d)) {
      const double ratio = d / c;
      const double scale = 1 / (c + d * ratio);
      return {(x.real() + x.imag() * ratio) * scale, (x.imag() - x.real() * ratio) * scale};
    }
    const double ratio = c / d;
    const double scale = 1 / (c * ratio + d);
    return {(x.real() * ratio + x.imag()) * scale, (x.imag() * ratio - x.real()) * scale};
  } else {
    return x / y;
  }
}

template <class T>
bool is_infinite(T x) {
  if constexpr (is_complex_number<T>) {
    return std::isinf(x.real()) || std::isinf(x.imag());
  } else {
    return std::isinf(x);
  }
}

// NaN; both parts of a complex one.
template <class T>
constexpr T undefined() {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if constexpr (is_complex_number<T>) {
    return {nan, nan};
  } else {
    return static_cast<T>(nan);
  }
}

// z / |z|, and zero at zero.
inline Complex direction(Complex z) {
  const double size = std::abs(z);
  return size == 0 ? Complex{} : z / size;
}

inline Complex exponential(Complex z) { return std::exp(z); }
inline Complex logarithm(Complex z) { return std::log(z); }
inline Complex hyperbolic_tangent(Complex z) { return std::tanh(z); }

// base^exponent; whole exponents of moderate size by multiplication. 0^0 is 1.
inline Complex complex_power(Complex base, Complex exponent) {
  if (exponent == Complex{}) return Complex{1};
  const double whole = std::trunc(exponent.real());
  if (exponent == Complex{whole} && std::abs(whole) <= 1024) {
    Complex result{1};
    auto left = static_cast<unsigned>(std::abs(whole));
    for (Complex factor = base; left != 0; left >>= 1) {
      if ((left & 1) != 0) result = wrapping_mul(result, factor);
      factor = wrapping_mul(factor, factor);
    }
    return whole < 0 ? quotient(Complex{1}, result) : result;
  }
  return std::pow(base, exponent);
}

}  // namespace msrun
