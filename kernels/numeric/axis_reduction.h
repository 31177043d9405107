// Reductions over tensors, below the tape: what operators and their VJPs build on.
#pragma once

#include "kernels/tensor/arithmetic.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// A tensor seen as [outer, reduced, inner] in row-major order: the reduced axes moved together. Where several reduced
// axes are not neighbours, the tensor is permuted and copied.
struct ReductionView {
  Tensor tensor;  // contiguous, of outer * extent * inner elements
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
  Dims reduced_shape;  // of the result without the reduced axes
  Dims keepdim_shape;  // of the result with size 1 in their place
};

// axes may be negative, must not repeat; empty means all axes. Throws SkipError otherwise.
ReductionView reduction_view(const Tensor& tensor, const Dims& axes);

// float64 for float64, float32 for the narrower floats, int64 for integers and bool: what reductions compute in. Throws
// SkipError for complex dtypes, which only sum and prod reduce.
DType wide_dtype(DType dtype);

// The shape without the axes (all if empty), or with size 1 in their place, and the number of elements reduced into
// one.
Dims reduced_shape(const Dims& shape, const Dims& axes, bool keepdim);
std::int64_t reduced_count(const Dims& shape, const Dims& axes);

// A result of a reduction over axes, with or without kept dimensions, repeated along them: the way back of a reduction.
Tensor expand_reduced(const Tensor& reduced, const Dims& shape, const Dims& axes);

// Sum over axes (all if empty). Floats accumulate pairwise in float32 (float64 for float64) and are rounded once;
// complex numbers accumulate in complex128 and are rounded once; integers and bool accumulate in int64, the result's
// dtype. With arithmetic.fp16_accumulation every addition is
// rounded to float16.
Tensor sum(const Tensor& tensor, const Dims& axes, bool keepdim, const Arithmetic& arithmetic = {});

// The same before the rounding to the tensor's dtype: the result is of wide_dtype, or complex128.
Tensor sum_unrounded(const Tensor& tensor, const Dims& axes, bool keepdim, const Arithmetic& arithmetic = {});

// Product over axes, computed and rounded as the sum.
Tensor prod(const Tensor& tensor, const Dims& axes, bool keepdim);

enum class Extremum : std::uint8_t { maximum, minimum };

// The largest or smallest element; NaN wins. Throws SkipError if a reduced axis is empty.
Tensor extremum(Extremum which, const Tensor& tensor, const Dims& axes, bool keepdim);

// The gradient of y, one element of x for all along the axes: shared evenly by the elements that are equal to it (NaN
// to NaN).
Tensor share_over_ties(const Tensor& x, const Tensor& y, const Tensor& gradient, const Dims& axes);

// int64 index, along one axis, of the first occurrence of the extremum.
Tensor extremum_index(Extremum which, const Tensor& tensor, std::int64_t axis, bool keepdim);

// g summed over the axes along which an operand of the given shape was broadcast: R(g) of api_inventory.md section 3.
// Sums accumulate in float32 (float64 for float64) and are rounded once, unless the arithmetic says otherwise.
Tensor sum_to(const Tensor& gradient, const Dims& shape, const Arithmetic& arithmetic = {});

}  // namespace msrun
