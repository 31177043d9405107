// The arguments of pooling operators: what their windows (pooling_windows.h) are made from.
#pragma once

#include <cstddef>

#include "kernels/api/signature.h"
#include "kernels/api/value.h"
#include "kernels/numeric/pooling_windows.h"

namespace msrun {

// The arguments kernel_size, stride, padding and ceil_mode.
PoolOptions pool_options(const Bound& args);

// The windows of adaptive pooling over the trailing `spatial` axes of x. output_size: an integer, or a list in which
// None keeps the input's size. Throws SkipError where it does not fit x.
Geometry adaptive_windows(const Tensor& x, std::size_t spatial, const Value& output_size);

}  // namespace msrun
