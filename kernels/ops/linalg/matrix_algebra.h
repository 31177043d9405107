// Short names for products and transposes of batches of matrices, below the tape: what the gradients of linear algebra
// are written in. Included by operator files only.
#pragma once

#include <string>

#include "kernels/base/error.h"
#include "kernels/numeric/matrix_product.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"

namespace msrun {

inline Tensor transposed(const Tensor& a) { return a.transpose(-1, -2); }

inline Tensor times(const Tensor& a, const Tensor& b) { return product(a, b, a.dtype(), {}); }

inline Tensor negative(const Tensor& a) {
  return map(a.dtype(), a, [](auto x) { return -x; });
}

inline Tensor multiplied(const Tensor& a, const Tensor& b) {
  return map(a.dtype(), a, b, [](auto x, auto y) { return x * y; });
}

inline Tensor added(const Tensor& a, const Tensor& b) {
  return map(a.dtype(), a, b, [](auto x, auto y) { return x + y; });
}

inline Tensor subtracted(const Tensor& a, const Tensor& b) {
  return map(a.dtype(), a, b, [](auto x, auto y) { return x - y; });
}

// One value per matrix, spread over its elements.
inline Tensor per_matrix(const Tensor& values, const Tensor& matrices) {
  return values.unsqueeze(-1).unsqueeze(-1).expand(matrices.shape());
}

inline Dims batch_axes(const Var& x) {
  if (x.rank() < 2) throw SkipError("The input must have at least 2 dimensions.");
  return {x.shape().begin(), x.shape().end() - 2};
}

// The matrices repeated to the given batch axes.
inline Var batched(const Var& x, Dims batch) {
  for (auto axis = x.shape().end() - 2; axis != x.shape().end(); ++axis) batch.push_back(*axis);
  return batch == x.shape() ? x : expand(x, batch);
}

// Decompositions exist for float32 and float64; half inputs must have been raised.
inline void require_float(const Var& a, const char* who) {
  if (a.dtype() == DType::float32 || a.dtype() == DType::float64) return;
  throw SkipError(std::string(who) + " is not supported for " + std::string(name(a.dtype())) + ".");
}

}  // namespace msrun
