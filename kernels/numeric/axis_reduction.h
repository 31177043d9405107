// Sums and products over axes of a tensor: what operators and their VJPs build on.
#pragma once

#include "kernels/numeric/evaluation_context.h"
#include "kernels/numeric/reduction_view.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// Sum over axes (all if empty). Floats accumulate pairwise in float32 (float64 for float64) and are rounded once;
// complex numbers accumulate in complex128 and are rounded once; integers and bool accumulate in int64, the result's
// dtype. The summation of the context's arithmetic is heeded, its accumulator in float32 alone.
Tensor sum(const Tensor& tensor, const Dims& axes, bool keepdim, const EvaluationContext& context);

// The sum before it is rounded to the tensor's dtype: in wide_dtype, or complex128.
Tensor sum_unrounded(const Tensor& tensor, const Dims& axes, bool keepdim, const EvaluationContext& context);

// Product over axes, computed and rounded as the sum.
Tensor prod(const Tensor& tensor, const Dims& axes, bool keepdim);

// g summed over the axes along which an operand of the given shape was broadcast: R(g) of api_inventory.md section 3.
// Sums accumulate in float32 (float64 for float64) and are rounded once, unless the arithmetic says otherwise.
Tensor sum_to(const Tensor& gradient, const Dims& shape, const EvaluationContext& context);

}  // namespace msrun
