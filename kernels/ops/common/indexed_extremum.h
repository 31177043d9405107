// Largest or smallest elements along an axis with their places, as several operators return them.
#pragma once

#include <cstdint>

#include "kernels/numeric/axis_extrema.h"
#include "kernels/ops/common/functions.h"

namespace msrun {

struct IndexedExtremum {
  Var values;      // the gradient of each goes to its index
  Tensor indices;  // int64
};

// Both without the axis, or with one element along it (keepdim). Throws SkipError as extremum_index() and
// reduced_shape() do.
IndexedExtremum indexed_extremum(Extremum which, const Var& x, std::int64_t axis, bool keepdim);

}  // namespace msrun
