// Selections: the elements of a tensor that an index names, as positions in row-major order. Every indexing operator
// makes one from its arguments, checks it against the shape, and reads or writes through it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/tensor/tensor.h"

namespace msrun {

struct EvaluationContext;

struct Selection {
  Dims shape;                        // of what is selected
  std::int64_t run = 1;              // neighbouring elements that are taken together
  std::vector<std::int64_t> starts;  // position of each run's first element; all runs lie inside the source
};

// The index tensor as row-major int64. Throws SkipError unless its dtype is an integer one.
Tensor index_values(const Tensor& index);

// A position in [0, size), from one that may count from the end where `wraps`. Throws SkipError otherwise.
std::int64_t checked_index(std::int64_t index, std::int64_t size, bool wraps);

// out[i][j] = x[index[i][j]][j] for axis 0, and so on: the index has the rank of x and is nowhere larger but along
// axis.
Selection gather_selection(const Dims& shape, std::int64_t axis, const Tensor& index);

// The elements of that selection, and the gradient with respect to a source of the given shape, without writing the
// positions down.
Tensor gather_elements(const Tensor& x, std::int64_t axis, const Tensor& index);
Tensor gather_elements_vjp(const Tensor& gradient, const Dims& shape, std::int64_t axis, const Tensor& index,
                           const EvaluationContext& context);

// Whole slices along axis, for a 0-d or 1-d index.
Selection slices_selection(const Dims& shape, std::int64_t axis, const Tensor& index, bool wraps);

// What a view of a row-major tensor shows.
Selection view_selection(const Tensor& source, const Tensor& view);

// numpy's advanced indexing of a view of row-major source: indices[k] selects along axis k of the view, an undefined
// tensor takes all of it. Indices broadcast, bool (and uint8) masks mean the positions of their true elements and
// cover as many axes as they have. The broadcast axes come where the first index was if the indices are neighbours,
// else in front.
Selection advanced_selection(const Tensor& source, const Tensor& view, std::span<const Tensor> indices);

// Row-major positions of the elements that are not zero.
std::vector<std::int64_t> nonzero_positions(const Tensor& tensor);

// How many runs select the place of a source of so many elements that most of them do; all, where they may overlap.
std::int64_t most_at_one_place(const Selection& selection, std::int64_t elements);

// Notes (sums.h) that what is selected is added up at its places in a source of so many elements.
void note_sums_of(const EvaluationContext& context, const Selection& selection, std::int64_t elements);

Tensor take(const Tensor& x, const Selection& selection);

// A copy of x with values, broadcast to the selection and cast to the dtype of x, at the selected positions; of several
// values for one position the last stays.
Tensor put(const Tensor& x, const Selection& selection, const Tensor& values);

// x plus alpha times the values, summed in order in the wide dtype and rounded once.
Tensor put_sum(const Tensor& x, const Selection& selection, const Tensor& values, double alpha,
               const EvaluationContext& context);

// Gradients with respect to the source of take and put. The former is summed in the wide dtype and rounded once, to
// `stored` if given, else to the dtype of the gradient.
Tensor take_vjp(const Tensor& gradient, const Dims& shape, const Selection& selection, const EvaluationContext& context,
                std::optional<DType> stored = std::nullopt);
Tensor put_vjp(const Tensor& gradient, const Selection& selection);

}  // namespace msrun
