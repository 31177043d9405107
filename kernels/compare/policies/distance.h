// How far two tensors are apart in the three numbers of MindSpore's check (acc_check_mindspore.md 6.3).
#pragma once

#include <cstdint>

#include "kernels/tensor/tensor.h"

namespace msrun {

struct Distance {
  double cosine = 1;        // (1e-8 + sum b t) / (1e-8 + |b| |t|)
  double max_abs = 0;       // of |b - t|
  double max_relative = 0;  // of |b - t| / |b|, or / 1e-8 where b is 0
  // Elements that are NaN, or infinity of one sign, on both sides.
  std::int64_t nonfinite_equal = 0;
};

// The distance of real tensors of equal shapes, element by element in float64, in an order that depends on the shape
// alone. Without elements the tensors agree. NaN in a difference makes the maxima NaN, as numpy's maximum does.
// equal_nonfinite: NaN and infinities that are the same on both sides count as zeros, and norms whose squares overflow
// are scaled; otherwise both give NaN.
Distance distance_of(const Tensor& bench, const Tensor& tested, bool equal_nonfinite);

}  // namespace msrun
