// The largest and smallest elements along axes of a tensor, where they are, and the way back of their gradients.
#pragma once

#include <cstdint>

#include "kernels/numeric/evaluation_context.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

enum class Extremum : std::uint8_t { maximum, minimum };

// The largest or smallest element; NaN wins. Throws SkipError if a reduced axis is empty.
Tensor extremum(Extremum which, const Tensor& tensor, const Dims& axes, bool keepdim);

// Who shares the gradient of an extremum that is NaN: the elements that are NaN, or none, which makes the whole
// gradient gradient / 0 * 0 = NaN. torch does the former for max, min and median over everything, the latter for amax,
// amin and aminmax.
enum class NanTies : std::uint8_t { shared, undefined };

// The gradient of y, one element of x for all along the axes: shared evenly by the elements that are equal to it.
Tensor share_over_ties(const EvaluationContext& context, const Tensor& x, const Tensor& y, const Tensor& gradient,
                       const Dims& axes, NanTies nan_ties = NanTies::shared);

// int64 index, along one axis, of the first occurrence of the extremum.
Tensor extremum_index(Extremum which, const Tensor& tensor, std::int64_t axis, bool keepdim);

}  // namespace msrun
