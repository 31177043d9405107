// How far a computed function value is from the exact one.
#pragma once

#include <cmath>
#include <limits>

namespace msrun {

// In distances between neighbouring values of T at exact; 0 if actual is exact correctly rounded.
template <class T>
double units_of_last_place(T actual, long double exact) {
  const T nearest = static_cast<T>(exact);
  if (actual == nearest) return 0;
  const long double place =
      static_cast<long double>(std::nextafter(std::abs(nearest), std::numeric_limits<T>::infinity())) -
      static_cast<long double>(std::abs(nearest));
  return static_cast<double>(std::abs(static_cast<long double>(actual) - exact) / place);
}

}  // namespace msrun
