// Powers of elements with one exponent for all of them, a real number.
#pragma once

#include <cmath>

#include "kernels/numeric/complex_numbers.h"
#include "kernels/numeric/evaluation_context.h"

namespace msrun {

// x^exponent. Frameworks take a root, or the reciprocal of one, for an exponent of 1/2 or -1/2, but neither in every
// dtype nor on every device. A power of -inf is a number where its root is none, and that of -0.0 has another sign.
class RealPower {
 public:
  RealPower(const EvaluationContext& context, double exponent)
      : exponent_(exponent), takes_root_((exponent == 0.5 || exponent == -0.5) && !context.gives_alternative()) {}

  template <class T>
  T operator()(T x) const {
    if (takes_root_) {
      const T root = std::sqrt(x);
      return exponent_ > 0 ? root : quotient(T{1}, root);
    }
    if constexpr (is_complex_number<T>) {
      return complex_power(x, static_cast<T>(exponent_));
    } else {
      return std::pow(x, static_cast<T>(exponent_));
    }
  }

 private:
  double exponent_;
  bool takes_root_;
};

}  // namespace msrun
