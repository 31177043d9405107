// Matrices in the last two axes of tensors, as Eigen sees them. For the .cpp files of decompositions only: no Eigen
// type may reach a header that others include.
//
// Decompositions run in float64 for both dtypes: the float32 result is the rounded one, and there is one set of
// templates.
#pragma once

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <algorithm>
#include <initializer_list>

#include "kernels/base/error.h"
#include "kernels/numeric/evaluation_context.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ColumnMatrix = Eigen::MatrixXd;

// Matrix number `index` of a batch of float64.
inline Eigen::Map<const RowMatrix> matrix(const Tensor& tensor, std::int64_t index) {
  const std::int64_t rows = tensor.size(-2);
  const std::int64_t columns = tensor.size(-1);
  return {tensor.data<double>() + index * rows * columns, rows, columns};
}

inline Eigen::Map<RowMatrix> matrix(Tensor& tensor, std::int64_t index) {
  const std::int64_t rows = tensor.size(-2);
  const std::int64_t columns = tensor.size(-1);
  return {tensor.mutable_data<double>() + index * rows * columns, rows, columns};
}

// The leading axes. Throws SkipError for less than a matrix.
inline Dims batch_of(const Tensor& a) {
  if (a.rank() < 2) throw SkipError("A matrix decomposition needs a tensor of at least 2 dimensions.");
  return {a.shape().begin(), a.shape().end() - 2};
}

inline std::int64_t matrix_count(const Tensor& a) { return element_count(batch_of(a)); }

inline Dims with(Dims batch, std::initializer_list<std::int64_t> sizes) {
  for (const std::int64_t size : sizes) batch.push_back(size);
  return batch;
}

// In the accumulator of a device, whatever is computed of an m x n matrix is a chain of up to min(m, n) steps, each of
// which sums up rows and columns.
inline void note_chain(const EvaluationContext& context, const Tensor& tensor) {
  if (tensor.rank() < 2 || tensor.numel() == 0) return;
  const std::int64_t elements = tensor.size(-2) * tensor.size(-1);
  context.note_sums(elements * std::min(tensor.size(-2), tensor.size(-1)), tensor.numel() / elements);
}

// An argument of a decomposition.
inline Tensor wide(const EvaluationContext& context, const Tensor& tensor) {
  note_chain(context, tensor);
  return tensor.to(DType::float64).contiguous();
}

}  // namespace msrun
