// Functions that others are computed from, as they are computed here and as a device may have them.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "kernels/numeric/complex_numbers.h"
#include "kernels/numeric/logistic.h"
#include "kernels/numeric/roughness.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"

namespace msrun {

inline Complex logistic(Complex z) {
  const Complex decay = std::exp(z.real() >= 0 ? -z : z);
  return quotient(z.real() >= 0 ? Complex{1} : decay, 1.0 + decay);
}

// How functions are computed that others are computed from: as well as can be.
struct Closely {
  template <class T>
  T operator()(T value) const {
    return value;
  }
  template <class T>
  T sigmoid(T x) const {
    return logistic(x);
  }
  // 1 less the sigmoid.
  template <class T>
  T rest(T x) const {
    return logistic(-x);
  }
};

// As devices may: off by a place, which is all the difference where the value is subtracted from a number near it.
struct Roughly {
  std::uint32_t seed = 0;

  template <class T>
  T operator()(T value) const {
    if constexpr (std::is_floating_point_v<T>) return off_by_a_place(value, seed);
    return value;
  }
  template <class T>
  T sigmoid(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return rough_logistic(x, seed);
    } else {
      return logistic(x);
    }
  }
  template <class T>
  T rest(T x) const {
    return T{1} - sigmoid(x);
  }
};

// make(take) with one of both, the second in a rough computation.
template <class Make>
Var taking(const EvaluationContext& context, const Make& make) {
  if (const std::uint32_t seed = context.jitter_seed; seed != 0) return make(Roughly{seed});
  return make(Closely{});
}

// The gradient `vjp` of a function that kernels have at NaN in vectors, and `slope` times that of the result outside of
// vectors.
template <class V>
auto open_at_nan(const EvaluationContext& context, V vjp, double slope = 1) {
  return [=, outside = context.gives_alternative()](auto a, auto y, auto g) {
    return outside && is_nan(a) ? static_cast<decltype(g)>(slope) * g : vjp(a, y, g);
  };
}

}  // namespace msrun
