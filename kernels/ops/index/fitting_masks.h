// Random masks that are true as often as the rest of a call needs them to be: as there are values for the elements they
// select, or places in the recorded gradient of the result.
#pragma once

#include "kernels/api/drawn_call.h"

namespace msrun {

// The mask of masked_scatter: its source has an element for each one that is true.
void fit_mask_to_source(DrawnCall& call);

// The masks of an index, the second argument. The third one holds the values that are written.
void fit_masks_to_values(DrawnCall& call);
void fit_masks_to_result(DrawnCall& call);
// Those of a list of tensors, in which None takes an axis as it is; in an index it adds one.
void fit_listed_masks_to_values(DrawnCall& call);
void fit_listed_masks_to_result(DrawnCall& call);

}  // namespace msrun
