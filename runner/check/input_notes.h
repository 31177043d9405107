// What a call was given, in a few words for each tensor, for those who read about a call that went wrong.
#pragma once

#include <vector>

#include "kernels/api/api_call.h"
#include "kernels/evaluate/materialise.h"
#include "runner/results/result.h"

namespace msrun {

// Notes of the first tensors, in the order of the arguments: as they were recorded, or as they were computed with,
// gradients of the outputs included. Scalars among the arguments have no note.
std::vector<InputNote> input_notes(const ApiCall& call);
std::vector<InputNote> input_notes(const MaterialisedCall& call);

}  // namespace msrun
