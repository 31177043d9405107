// Rows of complex results, judged by the real numbers that they consist of.
//
// Rounding acts on real and imaginary part each. What a part may err by is not seen in the part itself, but in the
// terms behind it, which both parts of the inputs make up.
#pragma once

#include "runner/check/explain.h"

namespace msrun {

// Whether the benchmark and the device's result of the row are complex.
bool is_complex_row(const Comparison& comparison, std::size_t row);

// The comparison with real and imaginary parts along a last axis of size 2 in that row. The other rows have no pairs.
Comparison with_parts(const Comparison& comparison, std::size_t row);

// What select gives, of that row in the same form.
Explainer::Select parts_of_row(const Explainer::Select& select, std::size_t row);

}  // namespace msrun
