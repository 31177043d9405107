// What a script changes in random tensors so that they fit each other: a mask with as many places as there are values,
// boundaries that rise. Each operator knows what its arguments need (OperatorTraits::fit); a script gets the elements.
#pragma once

#include <functional>

#include "tools/op_generate/recorded_case.h"

namespace msrun::op_generate {

// Draws the random data of every iteration and notes in recorded.fitted what is changed in them. report gets a sentence
// where that is too much for a script, which then has the data as they were drawn.
void note_fitted_values(RecordedCase& recorded, const std::function<void(const std::string&)>& report);

}  // namespace msrun::op_generate
