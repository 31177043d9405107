// Sliding windows over up to three spatial axes: the geometry that convolutions, fold and unfold share, and the
// rearrangement of windows into the columns of a matrix and back.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/tensor/arithmetic.h"

namespace msrun {

// Sizes of the last three axes; tensors of fewer spatial axes have leading ones of size 1.
using Spatial = std::array<std::int64_t, 3>;

struct Windows {
  Spatial input{1, 1, 1};
  Spatial kernel{1, 1, 1};
  Spatial output{1, 1, 1};  // window positions
  Spatial stride{1, 1, 1};
  Spatial padding{0, 0, 0};  // zeros before the first element of each axis
  Spatial dilation{1, 1, 1};

  std::int64_t input_size() const { return input[0] * input[1] * input[2]; }
  std::int64_t kernel_size() const { return kernel[0] * kernel[1] * kernel[2]; }
  std::int64_t output_size() const { return output[0] * output[1] * output[2]; }
  // A window is one element and the windows cover the input once, in order.
  bool is_identity() const;
};

// Row (channel, kernel position) and column (window) of columns, `count` windows from `first` on, is the input element
// under the kernel position, or 0 in the padding. input is [channels, input]; columns is [channels * kernel_size,
// count]. T is float or double.
template <class T>
void windows_to_columns(const Windows& windows, std::int64_t channels, const T* input, std::int64_t first,
                        std::int64_t count, T* columns);

// The transposed map: adds every element of columns to the input element it was taken from. If T is float,
// every sum is what the accumulator holds.
template <class T>
void add_columns_to_windows(const Windows& windows, std::int64_t channels, const T* columns, std::int64_t first,
                            std::int64_t count, T* input, Accumulator accumulator);

}  // namespace msrun
