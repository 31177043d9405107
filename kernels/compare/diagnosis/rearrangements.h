// Results that have the benchmark's values in other places.
#pragma once

#include <string>

#include "kernels/compare/bounds/rounding.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// One sentence if the device's result is the benchmark with two axes transposed, with two rows, columns or indices of
// another axis swapped, or with its values in any other order; else "". fit is that of the pair under budget, and has
// elements beyond it. A rearrangement is named if every element is explained by rounding, under the same budget, of
// what it has in that place.
std::string rearrangement(const Tensor& bench, const Tensor& device, const RoundingFit& fit, const ErrorBudget& budget);

}  // namespace msrun
