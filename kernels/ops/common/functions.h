// The differentiable functions that operators are composed of. Every operator file declares here what others may use;
// the operators themselves are registered beside the definitions.
//
// Conventions: a function of Vars records its gradient; dtypes follow torch's promotion; half inputs are computed in
// float32 and rounded once at the end of each function. A formula that composes several functions raises half inputs
// first and rounds the result once: see Raised.
//
// In the folders beside this one: the operators, a file per category, each with its signature, body, names and traits.
// Loops over tensors that need neither names nor the tape are in kernels/numeric.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/autograd/tape.h"

namespace msrun {

// arithmetic.cpp, power.cpp, maximum_minimum.cpp, casts.cpp
Var add(const Var& a, const Var& b);
Var sub(const Var& a, const Var& b);
Var mul(const Var& a, const Var& b);
Var div(const Var& a, const Var& b);
Var add(const Var& a, double b);
Var mul(const Var& a, double b);
Var neg(const Var& x);
Var square(const Var& x);
Var sqrt(const Var& x);
Var rsqrt(const Var& x);
Var exp(const Var& x);
Var log(const Var& x);
Var abs(const Var& x);
Var pow(const Var& x, double exponent);
Var maximum(const Var& a, const Var& b);
Var minimum(const Var& a, const Var& b);
// min(max(x, low), high); the gradient passes where low <= x <= high.
Var clamp(const Var& x, std::optional<double> low, std::optional<double> high);
// Value conversion; the gradient is cast back.
Var cast(const Var& x, DType dtype);
// x in the dtype in which a call asks to be computed: the cast, whose gradient is cast back. A benchmark has the values
// that the cast leaves, and goes on in the precision that tensors of that dtype are raised to.
Var computed_in(const Var& x, DType dtype);
// x, of which a device may round what it computes next or not, as with fused operations; in a rough computation
// (kernels/numeric/roughness.h) every element is off by a place, as the rounded product with a constant is.
Var rough_step(const Var& x);
// condition ? x : y, with exact zeros in the gradient of the branch not taken. condition is bool.
Var where(const Var& condition, const Var& x, const Var& y);

// complex.cpp: |z|, z / |z| and the angle of complex z; the parts of any tensor and the tensor of two parts.
Var magnitude(const Var& z);
Var unit(const Var& z);
Var argument(const Var& z);
Var conjugate(const Var& z);
Var real(const Var& z);
Var imaginary(const Var& z);
Var complex_of(const Var& real, const Var& imaginary);
// The parts along a last axis of size 2.
Var view_as_real(const Var& z);
Var view_as_complex(const Var& pairs);

// views.cpp: no arithmetic.
Var reshape(const Var& x, const Dims& shape);
Var permute(const Var& x, const Dims& axes);
Var transpose(const Var& x, std::int64_t a, std::int64_t b);
Var expand(const Var& x, const Dims& shape);
Var flatten(const Var& x, std::int64_t first_axis, std::int64_t last_axis);
Var unsqueeze(const Var& x, std::int64_t axis);
Var squeeze(const Var& x, std::int64_t axis);
Var slice(const Var& x, std::int64_t axis, std::int64_t start, std::int64_t length, std::int64_t step = 1);
Var select(const Var& x, std::int64_t axis, std::int64_t index);
// The dtype is promoted; legacy 1-d parts without elements are left out.
Var cat(const std::vector<Var>& parts, std::int64_t axis);
Var stack(const std::vector<Var>& parts, std::int64_t axis);
Var flip(const Var& x, const Dims& axes);
// The elements on a diagonal of two axes, as the last axis.
Var diagonal(const Var& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2);
// Elements on and below (lower), or on and above a diagonal of the last two axes; zeros elsewhere.
Var triangle(const Var& x, std::int64_t diagonal, bool lower);

// sums_and_moments.cpp, norms.cpp: axes empty means all.
Var sum(const Var& x, const Dims& axes, bool keepdim);
Var mean(const Var& x, const Dims& axes, bool keepdim);
// log of the sum of exp; an all -inf slice gives -inf with gradient 0.
Var logsumexp(const Var& x, const Dims& axes, bool keepdim);
// (sum |x|^p)^(1/p); p may be 0, inf and -inf.
//
// Kernels of float16 store the powers that the gradient of a p-norm is a quotient of, which leave its range: those of
// the elements always, that of the norm unless it is kept in float32.
struct PowersOfNorm {
  bool elements_in_float16 = false;
  bool norm_in_float16 = false;
};
Var vector_norm(const Var& x, double p, const Dims& axes, bool keepdim, const PowersOfNorm& powers);
Var vector_norm(const Var& x, double p, const Dims& axes, bool keepdim);  // as its dtype has it

// matmul.cpp
Var matmul(const Var& a, const Var& b);
Var linear(const Var& x, const Var& weight, const std::optional<Var>& bias);

// contractions.cpp: the sum of products over axes_a of a with axes_b of b; the other axes in their order, first those
// of a.
Var contract(const Var& a, const Var& b, const Dims& axes_a, const Dims& axes_b);

// softmax.cpp
Var softmax(const Var& x, std::int64_t axis);
Var log_softmax(const Var& x, std::int64_t axis);

// activation.cpp
Var sigmoid(const Var& x);
Var tanh(const Var& x);
Var softplus(const Var& x, double beta, double threshold);
Var silu(const Var& x);

// scan.cpp
Var cumsum(const Var& x, std::int64_t axis);

// indexing.cpp
Var gather(const Var& x, std::int64_t axis, const Tensor& index);

// Raises half inputs of a composed operator to float32 and rounds its results back, so that it rounds once as a fused
// kernel does:
//   Raised raised;
//   Var x = raised(args.var("input"));
//   return raised.back(mul(x, rsqrt(...)));
class Raised {
 public:
  Var operator()(const Var& x);
  std::optional<Var> operator()(const std::optional<Var>& x);
  // To the dtype that the raised inputs promote to, if any was half and none was wider.
  Var back(const Var& result) const;

 private:
  bool any_ = false;
  DType dtype_ = DType::float32;
};

}  // namespace msrun
