// Differentiable functions of batches of matrices that several operator files compose; and triangular systems, below
// the tape. Inputs are float32 or float64: half inputs are raised by the caller.
#pragma once

#include <optional>
#include <string>

#include "kernels/api/value.h"
#include "kernels/autograd/tape.h"

namespace msrun {

// linalg.cpp

// The axes before the last two. Throws SkipError if there are no two.
Dims batch_axes(const Var& x);

// The matrices repeated to the given batch axes.
Var batched(const Var& x, Dims batch);

// Decompositions exist for float32 and float64; half inputs must have been raised. Throws SkipError for other dtypes.
void require_float(const Var& a, const char* who);

Var inverse(const Var& a);

// X with A X = B, or X A = B if not left; batch axes broadcast. B may also be one vector per matrix.
Var linalg_solve(const Var& a, const Var& b, bool left);

// Ones on the diagonal, zeros elsewhere, in the shape and dtype of a.
Var identity_like(const Var& a);

// singular_values.cpp

// A = U diag(s) V^T. The gradient through u and v is that of a loss which does not depend on their signs.
struct Svd {
  Var u;
  Var s;
  Var v;
};
Svd svd(const Var& a, bool full);

// ord is a number or "fro", "nuc". Half inputs are accepted.
Var matrix_norm(const Var& input, const Value& ord, const Dims& dims, bool keepdim);

// The gradient of A from that of its pseudo-inverse y, where the rank does not change.
Tensor pseudo_inverse_gradient(const EvaluationContext& context, const Tensor& a, const Tensor& y,
                               const Tensor& gradient);

// triangular.cpp

// X with T X = B, where T is the upper or lower triangle of A; `unit` takes its diagonal for ones. Their batch axes are
// equal. A zero on the diagonal gives infinities.
Tensor solve_triangular(const EvaluationContext& context, const Tensor& a, const Tensor& b, bool upper, bool unit);
Var solve_triangular(const Var& a, const Var& b, bool upper, bool unit);

// householder.cpp

// torch.lstsq(B, A) of old: the solution with what is left of B below it, and the packed QR (or LQ) factors of A. No
// gradient.
List packed_lstsq(const Var& b, const Var& a);

// lu.cpp

// A = P L U in LAPACK's packed form: L, whose diagonal is ones, below U. pivots are int32 and count from 1: row i was
// exchanged with row pivots[i]. info is int32, per matrix 0 or the number of the first zero on U's diagonal.
struct LuFactors {
  Tensor lu;
  Tensor pivots;
  Tensor info;
};
LuFactors lu_factors(const Tensor& a, bool pivot);

}  // namespace msrun
