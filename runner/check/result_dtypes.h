// Whether a device's results have the dtypes that the framework gives them. The Status knows classes of dtypes only,
// and the values of a result of another dtype may well agree.
#pragma once

#include <string>

#include "kernels/api/operators.h"
#include "kernels/compare/compare.h"
#include "kernels/evaluate/materialise.h"
#include "runner/dialects/dialect.h"

namespace msrun {

struct DeviceResult;

// Marks the rows of outputs whose dtype is not the one that the call has, evaluated in its own dtypes where that is not
// plain: integers and flags are never raised, and floating results as a rule have the dtype that was recorded or that
// of a floating argument. forward is the comparison with the call's benchmark. Nothing is marked where there is no
// memory to evaluate the call.
void judge_output_dtypes(const Operator& op, const MaterialisedCall& call, Comparison& forward);

// Marks the rows of gradients that have not the dtype of their argument. gradients are the device's, one per tensor of
// the arguments (DeviceResult::gradients), and rows those of their comparison, in the order of the dialect.
void judge_gradient_dtypes(const MaterialisedCall& call, const Dialect& dialect, const List& gradients,
                           std::vector<DetailsRow>& rows);

// Whether all floating results have the dtypes that are plain in this sense, and gradients those of their arguments, so
// that nothing is to be marked. device is the device's result, of which gradients are one per tensor of the arguments.
bool has_plain_dtypes(const OperatorTraits& traits, const MaterialisedCall& call, const DeviceResult& device);

// What is said of a result, named `what`, with another dtype than it has to have.
std::string text_of_other_dtype(const char* what, DType found, DType expected);

// Puts into the pairs of a comparison of gradients, for whoever judges them, the device's float32 gradients in the half
// type that autocast has them computed in: such a gradient is cast to the dtype of its argument once it is computed,
// and has no more digits than the half type. Rows stay as they are.
void judge_as_cast(const MaterialisedCall& call, const OperatorTraits& traits, Comparison& gradients);

// Whether a call with float64 tensors is computed in float32 all the same, because these have no axes, and others have.
bool computed_in_float32(const MaterialisedCall& call);

}  // namespace msrun
