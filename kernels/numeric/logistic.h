// 1 / (1 + e^-x) and ln(1 + e^x), without overflow on either side.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/numeric/exponential.h"
#include "kernels/numeric/logarithm.h"
#include "kernels/numeric/roughness.h"

namespace msrun {

// 1 / (1 + e^-x), given e^-|x|. T is float or double; NaN gives NaN.
template <class T>
[[gnu::always_inline]] inline T logistic_of(T x, T decay) {
  return (x >= 0 ? 1 : decay) / (1 + decay);
}

template <class T>
[[gnu::always_inline]] inline T logistic(T x) {
  const T decay = exponential(-std::abs(x));
  return std::isnan(x) ? x : logistic_of(x, decay);
}

// As devices may have it: off by a place, and 1 / (1 + e^-x) as it is written, so that it is 0 where e^-x overflows. In
// numbers of float32's range that is a little before it does, because changed arguments lie on either side.
template <class T>
T rough_logistic(T x, std::uint32_t seed) {
  const T growth = exponential(-x);
  return growth > std::numeric_limits<T>::max() / 2 ? T{0} : off_by_a_place(1 / (1 + growth), seed);
}

template <class T>
[[gnu::always_inline]] inline T log_one_plus_exp(T x) {
  return (x > 0 ? x : T{0}) + logarithm_of_one_plus(exponential(-std::abs(x)));
}

}  // namespace msrun
