// What a Python number becomes in an operator that decides by it. Which side of a threshold an element lies on is a
// question of the last place: 0.3 is less than float32(0.3), and equal to it where float32 is compared.
#pragma once

#include "kernels/autograd/tape.h"

namespace msrun {

// operand as it enters an operation that is computed in dtype, a comparison or a remainder: a number or a 0-d tensor
// beside tensors is rounded to the dtype that these were recorded in.
Var as_operand(const Var& operand, DType dtype);

// A number that a kernel takes as a parameter beside x, a threshold or a margin: kernels hold it in float32, of half
// types some in these.
double as_parameter(const Var& x, double number);

// A number as it is stored among elements like those of x: float16 has none as small as 1e-12.
double as_stored(const Var& x, double number);

}  // namespace msrun
