// The first look at a result that may differ by rounding alone (rounding.h): screens in one pass, without memory of
// their own, for what needs no closer look; false says nothing yet. Shapes are equal and both dtypes floating.
#pragma once

#include <cstdint>

#include "kernels/tensor/tensor.h"

namespace msrun {

// Every element is the nearest number to a value that differs from the benchmark by no more than a sum does whose terms
// do not cancel and of which so many additions wait for one another (chained_additions).
bool surely_rounding(const Tensor& bench, const Tensor& device, std::int64_t chain);

// Every element is the nearest number to a value that differs from the benchmark by no more than such a sum does of
// terms that are each as large as the benchmark typically is, and of no slice is nothing left (lost_slices.h).
bool surely_rounding_of_sums(const Tensor& bench, const Tensor& device, std::int64_t chain);

// Every element is that of the benchmark, NaN where that is NaN.
bool surely_equal(const Tensor& bench, const Tensor& device);

}  // namespace msrun
