// A tensor changed number by number, for whoever varies inputs or damages results; operators use elementwise_map.h.
#pragma once

#include <cstdint>

#include "kernels/tensor/tensor.h"

namespace msrun {

// A copy of a real tensor, of its shape and dtype and contiguous, whose element i in row-major order is
// change(element, i). Numbers pass through float64.
template <class Change>
Tensor changed_elements(const Tensor& tensor, const Change& change) {
  Tensor wide = tensor.to(DType::float64).clone();
  double* values = wide.mutable_data<double>();
  for (std::int64_t i = 0; i < wide.numel(); ++i) values[i] = change(values[i], i);
  return wide.to(tensor.dtype());
}

}  // namespace msrun
