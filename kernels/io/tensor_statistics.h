// What a shrunken dump keeps of a tensor: its smallest and largest element, on demand also mean, norm, counts of what
// is not finite, and a checksum. One pass over the file in bounded memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/io/file.h"
#include "kernels/io/stored_tensor.h"

namespace msrun {

// One element of any type.
using ElementBytes = std::array<std::byte, 16>;

struct TensorRange {
  NumpyType type = NumpyType::float32;
  alignas(16) ElementBytes smallest{};  // as the element would be
  alignas(16) ElementBytes largest{};
};

// As numpy's min and max: NaN if there is any, complex numbers in lexicographic order, bool as 0 and 1. buffer is for
// the reading, at least 4 KiB. Throws SkipError if the tensor has no elements or cannot be read.
TensorRange measure_range(const InputFile& file, const StoredTensor& tensor, std::span<std::byte> buffer);

// Of complex numbers the real part is measured, except for checksum. NaN and infinities are not left out.
struct TensorStatistics {
  TensorRange range;
  double smallest = 0;
  double largest = 0;
  double mean = 0;
  double l2_norm = 0;
  std::uint64_t nan_count = 0;
  std::uint64_t infinity_count = 0;
  std::uint64_t count = 0;
  std::uint32_t checksum = 0;  // CRC-32 of the decoded elements in logical order, as torchair.md 8.1 has it

  static constexpr std::size_t column_count = 8;
  // In the order above, from smallest to checksum.
  std::array<double, column_count> columns() const;
  // range is left as it is.
  static TensorStatistics from_columns(std::span<const double, column_count> columns);
};
TensorStatistics measure_statistics(const InputFile& file, const StoredTensor& tensor, std::span<std::byte> buffer);

// numpy's conversion of one element; `to` is a type that promote() gave for `from`.
ElementBytes convert_element(NumpyType from, const ElementBytes& element, NumpyType to);

}  // namespace msrun
