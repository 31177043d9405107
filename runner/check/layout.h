// How the elements of one tensor lie in another of as many elements.
#pragma once

#include "kernels/tensor/tensor.h"

namespace msrun {

// An order of the axes, and the shape that is then read row by row.
struct Layout {
  Dims axes;
  Dims shape;

  Tensor of(const Tensor& tensor) const { return tensor.permute(axes).reshape(shape); }
};

// The layout of `tensor` that comes nearest to `other`, by the largest difference of two elements; with its axes in
// their order unless any_order is set. Both have as many elements. Where orders are equally near, the first of them by
// the alphabet.
Layout nearest_layout(const Tensor& tensor, const Tensor& other, bool any_order);

}  // namespace msrun
