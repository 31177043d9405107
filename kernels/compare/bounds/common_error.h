// What the errors of all elements of a result have in common: a factor that fits them all. Errors of rounding are
// independent of each other, or common to the elements of a row or a channel, and leave next to none of it; a scale
// that was forgotten, a constant that is off or an epsilon that was left out is one, though each element may be within
// its bound.
#pragma once

#include <cstdint>

#include "kernels/compare/bounds/constants.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

struct CommonError {
  double factor = 0;     // actual is about exact * (1 + it), in the least squares
  double deviation = 0;  // of the factor, by chance, as the errors lie; infinity where chance cannot be told
};

// The common error of a device's floating result beside a benchmark of the same shape, which is rounded to its dtype
// first. Errors may be common to indices of an axis and of leading axes (rows, channels) as well: of at most so many
// independent groups, as far as these differ. Elements that are not finite in either do not count.
CommonError common_error(const Tensor& bench, const Tensor& device, std::int64_t independent);

// Whether a common error beyond this is likely, as some hundred elements tell: for most results there is none.
bool may_have_common_error(const Tensor& bench, const Tensor& device, double allowed);

}  // namespace msrun
