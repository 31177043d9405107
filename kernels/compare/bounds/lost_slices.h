// Slices of a result of which nothing is left. Where the terms behind elements are not measured, the typical magnitude
// of the result stands for them, and what sums of such terms may err by is more than all there is in a row of small
// elements: it could be zeros, have the other sign or be that of another call.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/compare/bounds/constants.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// The elements, row-major, of slices whose errors are half as large as the slice or larger, in the root mean square of
// their finite elements. A slice is a row along the last axis, or what has one index along another axis. Empty if there
// is no such slice. Shapes are equal and both dtypes floating.
std::vector<bool> lost_slices(const Tensor& bench, const Tensor& device);

}  // namespace msrun
