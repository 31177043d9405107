// Matrix products of tensors over their last two axes: batches, broadcasting, strides, complex numbers and the rounding
// of operands. The products themselves are gemm's.
#pragma once

#include "kernels/numeric/evaluation_context.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// The element type that products of this dtype are computed in: float32 for the narrow floats, float64 for float64 and
// int64 for integers. Throws SkipError for bool and complex; products of complex tensors are made of those of their
// parts, in float64.
DType product_dtype(DType dtype);

// The tensor converted to `compute`, which must come from product_dtype. Strides are kept where the data are dense, so
// that a transposed view stays one and repeated axes stay repeated. The numbers of float32 operands are rounded, too.
Tensor as_operand(const Tensor& tensor, DType compute, OperandRounding rounding);

// a b over the last two axes of tensors of at least two axes; the others broadcast. The result has dtype `dtype` and
// was computed in product_dtype(dtype), or in complex128 if an operand is complex. Throws SkipError if the shapes do
// not fit.
Tensor product(const Tensor& a, const Tensor& b, DType dtype, const EvaluationContext& context);

// start + a b in float32, of sums that each begin with their element of `start`, to which kernels add one product after
// the other that round after every addition: for an accumulator that does. start has the shape of the product or one
// that broadcasts to it.
Tensor product_onto(const Tensor& start, const Tensor& a, const Tensor& b, const EvaluationContext& context);

// Whether product() takes these operands as they are stored, without copies: half types in a product of float32, and
// float32 in a product of float64.
bool multiplies_stored(const Tensor& a, const Tensor& b, DType dtype, const Arithmetic& arithmetic);

// That product summed over broadcast axes down to `shape`, as gradients of broadcast operands need it.
Tensor product_to(const Tensor& a, const Tensor& b, const Dims& shape, DType dtype, const EvaluationContext& context);

}  // namespace msrun
