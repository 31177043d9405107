// What the bytes of a tensor need after they were read from a file of another machine or library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "kernels/tensor/dtype.h"

namespace msrun {

// Turns the byte order of every element round; the two parts of a complex number are elements of their own.
inline void reverse_elements(DType dtype, std::span<std::byte> data) {
  const std::size_t size = is_complex(dtype) ? size_of(dtype) / 2 : size_of(dtype);
  for (std::size_t i = 0; i + size <= data.size(); i += size) std::reverse(data.data() + i, data.data() + i + size);
}

// A bool is one byte, 0 or 1; any other value in a `bool` is undefined behaviour.
inline void normalize_booleans(std::span<std::byte> data) {
  for (std::byte& value : data) value = value == std::byte{0} ? std::byte{0} : std::byte{1};
}

}  // namespace msrun
