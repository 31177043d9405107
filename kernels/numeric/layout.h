// Movement of whole elements between tensors of any dtype, below the tape: what the shape operators and their VJPs are
// made of.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/tensor/tensor.h"

namespace msrun {

// What a view of a tensor shows: with_strides of these gives the view. offset is in elements.
struct Placement {
  Dims shape;
  Dims strides;
  std::int64_t offset = 0;
};

// From the shape and strides of a tensor, the diagonal of two of its axes as the last axis. Throws SkipError if there
// are no such axes.
Placement diagonal_placement(const Dims& shape, const Dims& strides, std::int64_t offset, std::int64_t axis1,
                             std::int64_t axis2);

// Zeros of the given shape to which values are added at the elements that a view with these strides and offset (in
// elements of the row-major result) shows: the VJP of a view. values has the shape of the view, which must lie inside.
Tensor embed(const Dims& shape, const Dims& strides, std::int64_t offset, const Tensor& values);

// The parts one after the other along axis; they agree in all other sizes (SkipError) and are converted to dtype.
Tensor concatenate(DType dtype, const std::vector<Tensor>& parts, std::int64_t axis);

// Reversed along every axis in the list; axes are in range and do not repeat (SkipError).
Tensor flip(const Tensor& x, const Dims& axes);

// Rotated by shift along axis; a positive shift moves to higher indices.
Tensor roll(const Tensor& x, std::int64_t shift, std::int64_t axis);

// Matrices of zeros in axes axis1 and axis2 of the result that have the last axis of x on a diagonal.
Tensor diag_embed(const Tensor& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2);

// The elements of the last two axes on and below (lower), or on and above the diagonal; zero elsewhere.
Tensor triangle(const Tensor& x, std::int64_t diagonal, bool lower);

// Element i of axis repeated counts[i] times; and the reverse, the sums of each run.
Tensor repeat_elements(const Tensor& x, std::int64_t axis, const std::vector<std::int64_t>& counts);
Tensor sum_runs(const Tensor& x, std::int64_t axis, const std::vector<std::int64_t>& counts);

}  // namespace msrun
