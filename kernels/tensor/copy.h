// Copies of strided views into row-major order, whatever the order of the axes: the one loop behind Tensor::clone and
// Tensor::contiguous.
#pragma once

#include <cstddef>

#include "kernels/tensor/tensor.h"

namespace msrun {

// Writes the elements of source row-major to target, which has room for them and does not overlap the source.
void copy_row_major(const Tensor& source, std::byte* target);

}  // namespace msrun
