// Decompositions of matrices in the last two axes, below the tape. Tensors are float32 or float64; leading axes are a
// batch. Eigen computes them on one thread; no Eigen type is visible here. How much they add up is noted in the
// context.
#pragma once

#include "kernels/numeric/evaluation_context.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// Throws SkipError unless the last two axes are equal.
void require_square(const Tensor& a, const char* who);

// Throws SkipError for a singular matrix.
Tensor inverse(const EvaluationContext& context, const Tensor& a);

// X with A X = B, in the dtype of b. The batch axes of a and b are the same; both are real, or both complex. Throws
// SkipError for a singular matrix.
Tensor solve(const EvaluationContext& context, const Tensor& a, const Tensor& b);

// The determinant as sign * exp(logarithm); 0 and -inf for a singular matrix.
struct Determinant {
  Tensor value;
  Tensor sign;
  Tensor logarithm;  // of the absolute value
};
Determinant determinant(const EvaluationContext& context, const Tensor& a);

// L with L L^T = A, of the lower triangle of A. Throws SkipError if A is not positive definite.
Tensor cholesky(const EvaluationContext& context, const Tensor& a);

// A = U diag(s) V^T with falling s. With `full` U and V are square, else they have min(rows, columns) columns.
struct SingularValues {
  Tensor u;
  Tensor s;
  Tensor v;
};
SingularValues singular_values(const EvaluationContext& context, const Tensor& a, bool full);

// A = Q R. With `full` Q is square, else it has min(rows, columns) columns.
struct Orthogonal {
  Tensor q;
  Tensor r;
};
Orthogonal qr(const EvaluationContext& context, const Tensor& a, bool full);

// The same in the packed form that LAPACK's geqrf leaves: R on and above the diagonal, the vectors of the reflectors
// below it; tau has their factors. Signs are those of LAPACK: an element of R's diagonal has the opposite sign of the
// element it was reflected from.
struct Reflectors {
  Tensor packed;
  Tensor tau;
};
Reflectors reflectors_of(const EvaluationContext& context, const Tensor& a);

}  // namespace msrun
