// Counts by bins: an element within rounding of an edge may be counted on either side of it.
#pragma once

#include <optional>

#include "kernels/numeric/choices.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// What is to be added to the benchmark's counts so that they are the device's: each edge is crossed by no more elements
// than lie beside it, and none is lost. Nothing if that changes nothing, or does not lead there.
std::optional<Tensor> moved_counts(const EdgeCounts& edges, const Tensor& bench, const Tensor& device);

}  // namespace msrun
