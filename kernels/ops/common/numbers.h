// What a Python number becomes in an operator that decides by it. Which side of a threshold an element lies on is a
// question of the last place: 0.3 is less than float32(0.3), and equal to it where float32 is compared.
#pragma once

#include <utility>

#include "kernels/api/signature.h"
#include "kernels/autograd/tape.h"

namespace msrun {

// operand as it enters an operation that is computed in dtype, a comparison or a remainder. Torch first converts the
// operands to their common dtype: a number or a 0-d tensor beside tensors is rounded to the dtype that these were
// recorded in, beside integers it wraps around, and integers beside floating tensors are rounded, too.
Var as_recorded(const Var& operand, DType dtype);

// Both operands of an operation that is computed in the dtype they promote to.
std::pair<Var, Var> as_recorded(const Var& a, const Var& b);

// A number or a 0-d tensor among the operands of arithmetic that is computed in dtype. Kernels of half types hold it in
// float32, as torch's CUDA and newer CPU kernels do, or convert it to the half type first, in which it may be infinite:
// has_narrow_parameters() says of these.
Var as_scalar_operand(const Var& operand, DType dtype);

// A number that a kernel takes as a parameter beside x, a threshold or a margin: kernels hold it in float32, of half
// types some in these.
double as_parameter(const Var& x, double number);
// A constant of a formula. Some kernels of float64 hold it in float32, which has_narrow_parameters() says of them.
double as_constant(const Var& x, double number);

// The eps of an RMS norm of x: where the call gives none, the distance from 1 to the next number of the dtype that x
// was recorded in.
double rms_norm_eps(const Bound& args, const Var& x);

// A number as it is stored among elements like those of x: float16 has none as small as 1e-12.
double as_stored(const Var& x, double number);

}  // namespace msrun
