// What the places and sizes of differences say about their cause. Only patterns that chance does not make are named.
#pragma once

#include <functional>
#include <string>

#include "kernels/compare/bounds/rounding.h"
#include "kernels/compare/diagnosis/difference_map.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// One or two sentences on why device differs from bench, and on where, "" where nothing stands out. fit is that of the
// pair under budget and has wrong elements; map tells where these are.
//
// Known by their values: results below the smallest normal number that are zero; zeros; numbers that became NaN or
// infinite; memory that nothing was written to; opposite signs, and opposite infinities, which the sign of a zero
// makes; one constant factor; the right values in other places (rearrangements.h); values of like size that have
// nothing to do with the benchmark's. By their places: difference_map.h.
//
// look_further is called, if it is given, where elements are wrong all over the output and neither their signs nor
// their places say why. What it returns comes before factors and before values that have nothing to do with the
// benchmark's, which are facts and no causes.
std::string difference_pattern(const Tensor& bench, const Tensor& device, const RoundingFit& fit,
                               const ErrorBudget& budget, const DifferenceMap& map,
                               const std::function<std::string()>& look_further = {});

// How much evidence there is that errors are errors, in bits: an element that is off by twice what rounding explains
// has one, and so has one that is not the nearest number.
double evidence_bits(const RoundingFit& fit);

// True if the differences of device from bench have the size and the spread of those of alternative from bench: root
// mean squares, largest ones and shares of elements beyond rounding within a factor of two, all over the tensor.
bool same_error_distribution(const Tensor& bench, const Tensor& device, const Tensor& alternative,
                             const RoundingFit& device_fit, const RoundingFit& alternative_fit);

}  // namespace msrun
