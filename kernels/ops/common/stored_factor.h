// Factors of gradients that frameworks compute in a step of their own and store in the dtype of the call.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/tensor/dtype.h"

namespace msrun {

// What is stored of a factor that is computed in a wider type: beyond the largest number of the dtype it is infinite,
// and the gradient with it, whatever it is multiplied by. Nearer to zero its rounding is left out.
class StoredFactor {
 public:
  explicit StoredFactor(DType dtype)
      : largest_(is_floating(dtype) ? max_finite(dtype) : std::numeric_limits<double>::infinity()) {}

  // That of half types alone. In wider ones such factors are beyond what is recorded, and a benchmark in float32, that
  // of bfloat16, is to have no infinities of its own.
  static StoredFactor of_half(DType dtype) { return StoredFactor(is_half(dtype) ? dtype : DType::boolean); }

  template <class T>
  bool holds(T factor) const {
    if constexpr (std::is_floating_point_v<T>) return !(std::abs(static_cast<double>(factor)) > largest_);
    return true;
  }

  template <class T>
  T operator()(T factor) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (!holds(factor)) return std::copysign(std::numeric_limits<T>::infinity(), factor);
    }
    return factor;
  }

 private:
  double largest_;
};

}  // namespace msrun
