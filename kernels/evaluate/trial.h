// Whether a device may have a call: what kernels/api/trial.h marks is tried here first.
#pragma once

#include "kernels/api/operators.h"
#include "kernels/evaluate/materialise.h"

namespace msrun {

// Throws what the operator throws of a call that devices might take at its word: SkipError of arguments that do not
// fit, of results beyond the memory of the thread and of work out of all proportion. Nothing is computed for other
// operators.
void try_call(const Operator& op, const MaterialisedCall& call);

// Of all tensors that a call is given, the gradients of its results included.
double elements_of(const MaterialisedCall& call);

}  // namespace msrun
