// The discrete Fourier transform of complex tensors along one axis, below the tape. Any length takes O(n log n).
#pragma once

#include "kernels/tensor/tensor.h"

namespace msrun {

enum class FourierDirection : std::uint8_t { forward, inverse };

// y_k = scale * sum over j of x_j e^(-+2 pi i j k / n), with the minus sign forward; computed in complex128, and of
// complex128 in long double; in the dtype of x, which is complex and not empty along the axis (SkipError). The adjoint
// of a transform is the transform in the other direction with the same scale.
Tensor fourier(const Tensor& x, std::int64_t axis, FourierDirection direction, double scale);

}  // namespace msrun
