// Rows of complex results, judged by the real numbers that they consist of.
//
// Rounding acts on real and imaginary part each. What a part may err by is not seen in the part itself, but in the
// terms behind it, which both parts of the inputs make up.
#pragma once

#include "runner/judge/row_case.h"

namespace msrun {

// The row with real and imaginary parts along a last axis of size 2, of its tensors and of those of evaluations. row
// outlives it.
RowCase with_parts(const RowCase& row);

}  // namespace msrun
