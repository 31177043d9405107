// Matrix products over strided operands, below the tape: what the operators of matmul.cpp, conv.cpp and the attention
// kernels build on.
#pragma once

#include <cstdint>

#include "kernels/tensor/arithmetic.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// A matrix in memory that someone else owns. Strides are in elements; a transposed matrix is the same data with rows
// and columns exchanged.
template <class T>
struct MatrixView {
  const T* data;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;
  std::int64_t column_stride;

  MatrixView transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};

// result = a * b, or result += a * b: rows of `result` are contiguous, result_stride elements apart. a.columns must
// equal b.rows; a contracted length of 0 gives zeros. Sums are formed in T, some hundred terms at a time, and the
// result depends on the operands and their sizes alone. Arithmetic::fp16_accumulation is honoured for float;
// hf32_inputs is for as_operand. T is float or double.
template <class T>
void gemm(const MatrixView<T>& a, const MatrixView<T>& b, T* result, std::int64_t result_stride, bool accumulate,
          const Arithmetic& arithmetic = {});

// The element type that products of this dtype are computed in: float32 for the narrow floats, float64 for float64 and
// int64 for integers. Throws SkipError for bool and complex; products of complex tensors are made of those of their
// parts, in float64.
DType product_dtype(DType dtype);

// The tensor converted to `compute`, which must come from product_dtype. Strides are kept where the data are dense, so
// that a transposed view stays one and repeated axes stay repeated. With arithmetic.hf32_inputs a float32 tensor is
// rounded to 11 fraction bits.
Tensor as_operand(const Tensor& tensor, DType compute, const Arithmetic& arithmetic);

// a b over the last two axes of tensors of at least two axes; the others broadcast. The result has dtype `dtype` and
// was computed in product_dtype(dtype), or in complex128 if an operand is complex. Throws SkipError if the shapes do
// not fit.
Tensor product(const Tensor& a, const Tensor& b, DType dtype, const Arithmetic& arithmetic);

// The same product, summed over broadcast axes down to `shape`, as gradients of broadcast operands need it.
Tensor product_to(const Tensor& a, const Tensor& b, const Dims& shape, DType dtype, const Arithmetic& arithmetic);

}  // namespace msrun
