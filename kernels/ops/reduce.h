// Reductions over tensors, below the tape: what operators and their VJPs build on.
#pragma once

#include "kernels/autograd/tape.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// A tensor seen as [outer, reduced, inner] in row-major order: the reduced axes moved together. Where several reduced axes
// are not neighbours, the tensor is permuted and copied.
struct ReductionView {
  Tensor tensor;  // contiguous, of outer * extent * inner elements
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
  Dims reduced_shape;  // of the result without the reduced axes
  Dims keepdim_shape;  // of the result with size 1 in their place
};

// axes may be negative, must not repeat; empty means all axes. Throws SkipError otherwise.
ReductionView reduction_view(const Tensor& tensor, const Dims& axes);

// Sum over axes (all if empty). Floats accumulate pairwise in float32 (float64 for float64) and are rounded once; integers
// and bool accumulate in int64, the result's dtype. With arithmetic.fp16_accumulation every addition is rounded to float16.
Tensor sum(const Tensor& tensor, const Dims& axes, bool keepdim, const Arithmetic& arithmetic = {});

}  // namespace msrun
