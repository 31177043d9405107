// Matrix products over strided memory: the engine of tensor products (matrix_product.h), convolution and attention.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/tensor/arithmetic.h"
#include "kernels/tensor/dtype.h"

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
// result depends on the operands and their sizes alone. Of the arithmetic the summation is heeded, its accumulator for
// float only; operands are for as_operand (matrix_product.h). T is float or double, or std::int64_t, whose sums wrap
// as two's complement does.
template <class T>
void gemm(const MatrixView<T>& a, const MatrixView<T>& b, T* result, std::int64_t result_stride, bool accumulate,
          const Arithmetic& arithmetic = {});

// A matrix of floating elements; strides are in elements.
struct StoredMatrix {
  const void* data;
  DType dtype;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;
  std::int64_t column_stride;
};

// Whether gemm_stored() takes a product of matrices of these sizes and strides for a result of that dtype: those that
// are large enough for a copy to cost something.
bool takes_stored(const StoredMatrix& a, const StoredMatrix& b, DType dtype);

// gemm of the operands converted to the type that is computed in, with the result rounded to `dtype`: bit by bit the
// same, without the copies. `dtype` is float32, float16 or bfloat16 for operands of these three, computed in float32,
// or float64 for operands of float32 and float64, computed in float64. Rows of `result` are contiguous and lie
// together.
void gemm_stored(const StoredMatrix& a, const StoredMatrix& b, DType dtype, std::byte* result);

}  // namespace msrun
