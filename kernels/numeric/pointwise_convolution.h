// Convolutions whose windows have one element, without padding or steps: plain matrix products of every image.
#pragma once

#include "kernels/numeric/direct_convolution.h"

namespace msrun {

enum class ConvolutionProduct : std::uint8_t { output, input, weight };

// a and b are the factors in the order of the functions of direct_convolution.h: (x, w) for the output, (g, w) for the
// gradient of the input, (x, g) for that of the weight. T is float or double. start is that of convolve(), for the
// output.
template <class T>
void pointwise_convolution(ConvolutionProduct product, const Convolution& c, const T* a, const T* b, T* result,
                           const Arithmetic& arithmetic, const T* start = nullptr);

}  // namespace msrun
