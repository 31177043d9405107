// Order along an axis: sorting, partial sorting and selection, as indices. Values are gathered with the indices, which
// also gives the gradients.
//
// NaN counts as the largest value, zeros of both signs are equal, equal elements keep their order: results are unique.
#pragma once

#include <cstdint>

#include "kernels/tensor/tensor.h"

namespace msrun {

// Indices that sort x along axis.
Tensor sort_index(const Tensor& x, std::int64_t axis, bool descending);

// Indices of the first k of the sorted elements, in O(n + k log k) per row. Throws SkipError unless 0 <= k <= size.
Tensor top_index(const Tensor& x, std::int64_t axis, std::int64_t k, bool largest);

// Which element of the ascending order is selected, size 1 along axis: the k-th (from 0); the lower median, NaN if
// there is one; the lower median of the others. Throws SkipError for an empty axis or a k outside of it.
enum class Rank : std::uint8_t { kth, median, nanmedian };
Tensor rank_index(const Tensor& x, std::int64_t axis, Rank rank, std::int64_t k = 0);

// The last occurrence of the most frequent value, of the smallest such value; size 1 along axis.
Tensor mode_index(const Tensor& x, std::int64_t axis);

// For each element of the row-major x the number of its group of equal elements in ascending order; groups of NaN have
// one element. With `consecutive` only neighbours are grouped, in their order.
Tensor group_numbers(const Tensor& x, bool consecutive);

// Group numbers of the slices along axis 0, which are compared element by element.
Tensor slice_group_numbers(const Tensor& x, bool consecutive);

}  // namespace msrun
