// One element of an array of any numpy type, as bytes: what a range is made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include "kernels/io/numpy/numpy_type.h"

namespace msrun {

// As the element lies in memory; bytes behind it are zero.
using ElementBytes = std::array<std::byte, 16>;

template <class T>
ElementBytes element_of(T value) {
  ElementBytes bytes{};
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <class T>
T value_of(const ElementBytes& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// numpy's conversion of one element; `to` is a type that promote() gave for `from`.
ElementBytes convert_element(NumpyType from, const ElementBytes& element, NumpyType to);

}  // namespace msrun
