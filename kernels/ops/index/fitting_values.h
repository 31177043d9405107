// Values that fit what an index selects, for operators that write them there.
#pragma once

#include "kernels/autograd/tape.h"
#include "kernels/numeric/selection.h"

namespace msrun {

// The part of src that an index of that shape reaches, of which no axis may be longer than that of src.
Var leading_part(const Var& src, const Dims& shape);

// As many elements as are selected, in the shape of the selection. Throws SkipError for any other number.
Var same_slices(const Var& source, const Selection& selection);

}  // namespace msrun
