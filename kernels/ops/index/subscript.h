// What a subscript of Python, x[...], selects: numbers, slices, None, Ellipsis, masks, index tensors and nested lists.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/api/value.h"
#include "kernels/numeric/selection.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// The part of x that x[...] selects: a view, and where there are index tensors or lists, one entry per axis of the view
// for advanced_selection.
struct Subscript {
  Tensor source;  // x, row-major
  Tensor view;
  std::vector<Tensor> indices;
  bool advanced = false;
};

// Throws SkipError for what does not index a tensor.
Subscript make_subscript(const Tensor& x, const Value& index);
Selection subscript_selection(const Subscript& subscript);

// The index tensors of a list, undefined where the list has None. Throws SkipError for other items.
std::vector<Tensor> index_list(const Value& indices);

// The elements of one axis that a slice of Python selects. Throws SkipError for a step below 1.
Tensor sliced(const Tensor& view, std::int64_t axis, const Slice& slice);

}  // namespace msrun
