// 1 / (1 + e^-x) and ln(1 + e^x), without overflow on either side.
#pragma once

#include <cmath>

#include "kernels/numeric/exponential.h"
#include "kernels/numeric/logarithm.h"

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

template <class T>
[[gnu::always_inline]] inline T log_one_plus_exp(T x) {
  return (x > 0 ? x : T{0}) + logarithm_of_one_plus(exponential(-std::abs(x)));
}

}  // namespace msrun
