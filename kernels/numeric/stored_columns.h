// Transposed convolutions as frameworks compose them where no library takes them: of products that are each stored. The
// engine of convolutions (direct_convolution.h) forms every element in one sum.
#pragma once

#include "kernels/numeric/direct_convolution.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// The gradient of x for the gradient g of y, both float64 and contiguous as w is: for every position of the kernel the
// sum over channels, rounded to float32, and then their sum.
Tensor convolve_for_input_by_columns(const Convolution& c, const Tensor& g, const Tensor& w, const Dims& shape);

// The gradient of w for the gradient g of y: that of each sample is added to that of those before and rounded to
// float32.
Tensor convolve_for_weight_by_samples(const EvaluationContext& context, const Convolution& c, const Tensor& x,
                                      const Tensor& g, const Dims& shape);

}  // namespace msrun
