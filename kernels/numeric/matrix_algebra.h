// Short names for products, sums and transposes of batches of matrices: what the gradients of linear algebra are
// written in. Matrices are the last two axes; results have the dtype of the first operand. Included by .cpp files only.
#pragma once

#include "kernels/numeric/matrix_product.h"
#include "kernels/tensor/elementwise_map.h"

namespace msrun {

inline Tensor transposed(const Tensor& a) { return a.transpose(-1, -2); }

// The product, as a device with sound arithmetic has it in an evaluation.
class Times {
 public:
  explicit Times(const EvaluationContext& context) : context_(context.with_sound_arithmetic()) {}

  Tensor operator()(const Tensor& a, const Tensor& b) const { return product(a, b, a.dtype(), context_); }

 private:
  EvaluationContext context_;
};

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

// One value per matrix, repeated for each of its elements.
inline Tensor per_matrix(const Tensor& values, const Tensor& matrices) {
  return values.unsqueeze(-1).unsqueeze(-1).expand(matrices.shape());
}

}  // namespace msrun
