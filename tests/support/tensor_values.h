// The elements of a tensor for comparing them with what a test expects.
#pragma once

#include <vector>

#include "kernels/tensor/tensor.h"

namespace msrun::testing {

// Row-major, converted to float64.
inline std::vector<double> values(const Tensor& tensor) {
  const Tensor wide = tensor.to(DType::float64).contiguous();
  return {wide.data<double>(), wide.data<double>() + wide.numel()};
}

}  // namespace msrun::testing
