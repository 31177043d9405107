// What copies must keep, in which nothing is rounded.
#pragma once

#include <cstdint>

#include "kernels/tensor/tensor.h"

namespace msrun {

// How many elements are 0.0 where the benchmark, of the same shape, is -0.0. Both are floating. The two are equal, and
// what computes may give either; what only copies may not make one of the other, because 1 / x and atan2 tell them
// apart. The opposite is what is left of a negative number that is multiplied by a mask, which is a way to write zeros.
std::int64_t lost_signs_of_zero(const Tensor& bench, const Tensor& device);

}  // namespace msrun
