// Factors of gradients that frameworks compute in a step of their own and store in the dtype of the call.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/tensor/dtype.h"
#include "kernels/tensor/elementwise_map.h"

namespace msrun {

// What is stored of a factor that is computed in a wider type: beyond the largest number of the dtype it is infinite,
// and the gradient with it, whatever it is multiplied by. Below the smallest normal number of a half type it is a
// multiple of the smallest one, or nothing, and the gradient has no more digits. What it is rounded to in between is
// left out.
class StoredFactor {
 public:
  explicit StoredFactor(DType dtype)
      : largest_(is_floating(dtype) ? max_finite(dtype) : std::numeric_limits<double>::infinity()),
        normal_(dtype == DType::float16    ? 0x1p-14
                : dtype == DType::bfloat16 ? 0x1p-126
                                           : 0),
        smallest_(is_half(dtype) ? normal_ * epsilon(dtype) : 0) {}

  // That of half types alone. In wider ones such factors are beyond what is recorded, and a benchmark in float32, that
  // of bfloat16, is to have no infinities of its own.
  static StoredFactor of_half(DType dtype) { return StoredFactor(is_half(dtype) ? dtype : DType::boolean); }

  template <class T>
  bool holds(T factor) const {
    if constexpr (std::is_floating_point_v<T>) return !(std::abs(static_cast<double>(factor)) > largest_);
    return true;
  }

  // Whether it has all its digits: neither beyond the largest number nor below the smallest normal one.
  template <class T>
  bool keeps(T factor) const {
    if constexpr (std::is_floating_point_v<T>) return holds(factor) && !is_below_normal(factor);
    return true;
  }

  template <class T>
  T operator()(T factor) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (!holds(factor)) return std::copysign(std::numeric_limits<T>::infinity(), factor);
      if (is_below_normal(factor)) {
        const auto smallest = static_cast<T>(smallest_);
        return std::nearbyint(factor / smallest) * smallest;
      }
    }
    return factor;
  }

 private:
  template <class T>
  bool is_below_normal(T factor) const {
    return std::abs(static_cast<double>(factor)) < normal_;
  }

  double largest_;
  double normal_;    // 0: of a dtype that is computed in itself
  double smallest_;  // the smallest number that is not 0
};

// The gradient of the square of a, where 2 a is stored.
template <class T>
T gradient_of_square(const StoredFactor& stored, T a, T g) {
  const T slope = T{2} * conjugate(a);
  return stored.holds(slope) ? T{2} * g * conjugate(a) : g * stored(slope);
}

}  // namespace msrun
