// Values that are combined with the elements of a tensor which an index names, several of them with one element too:
// their product, mean, largest or smallest, or sum; and the way back of the gradient, as torch's formulas have it.
#pragma once

#include <cstdint>

#include "kernels/numeric/evaluation_context.h"
#include "kernels/numeric/selection.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

enum class IndexedReduction : std::uint8_t { sum, product, mean, maximum, minimum };

struct IndexedReductionForm {
  IndexedReduction how = IndexedReduction::sum;
  // Whether the element that was there before is one of those that are combined. An element that no index names stays
  // as it is, either way.
  bool includes_self = true;
};

// x and values are real and have one dtype; values are those of the selection, in its order. Computed in the wide dtype
// and rounded once.
Tensor reduce_at(const Tensor& x, const Selection& selection, const Tensor& values, const IndexedReductionForm& form,
                 const EvaluationContext& context);

struct IndexedReductionGradients {
  Tensor x;
  Tensor values;  // of the selection's shape
};

// From the gradient of the result. Equal extremes share it evenly; an element of x that is not included still counts as
// one of them where it equals the result, as it does in torch.
IndexedReductionGradients reduce_at_vjp(const Tensor& x, const Selection& selection, const Tensor& values,
                                        const IndexedReductionForm& form, const Tensor& gradient,
                                        const EvaluationContext& context);

}  // namespace msrun
