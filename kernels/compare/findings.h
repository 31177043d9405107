// What the places and sizes of differences say about their cause. Only patterns that chance does not make are named.
#pragma once

#include <string>

#include "kernels/compare/rounding.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// One sentence on why device differs from bench, "" where nothing stands out. fit is that of the pair and has elements
// beyond it.
//
// Known: results below the smallest normal number that are zero; an output of zeros; numbers that became NaN or
// infinite; opposite signs, and opposite infinities, which the sign of a zero makes; one constant factor; the right
// values in another order; one element, or one block of neighbouring elements, among right ones.
std::string difference_pattern(const Tensor& bench, const Tensor& device, const RoundingFit& fit);

// True if the differences of device from bench have the size and the spread of those of alternative from bench: root
// mean squares, largest ones and shares of elements beyond rounding within a factor of two, all over the tensor.
bool same_error_distribution(const Tensor& bench, const Tensor& device, const Tensor& alternative,
                             const RoundingFit& device_fit, const RoundingFit& alternative_fit);

}  // namespace msrun
