// Noise (SumModel::noise) of results that are rounded on the way.
#pragma once

#include "kernels/tensor/tensor.h"

namespace msrun {

// The noise of two causes together, each so many times as large; undefined if either is.
Tensor combined_noise(const Tensor& first, const Tensor& second, double times_first, double times);

// The noise of sums of which every addition is rounded to a dtype: there may be another order of them in which a
// partial sum is as large as the terms, and is rounded as such.
Tensor in_any_order(Tensor noise, const Tensor& spread, DType dtype);

}  // namespace msrun
