// What a shrunken dump keeps of a tensor: its smallest and largest element, on demand also mean, norm, counts of what
// is not finite, and a checksum. One pass over the file in bounded memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/io/files/file.h"
#include "kernels/io/stored/stored_tensor.h"
#include "kernels/io/stored/tensor_range.h"

namespace msrun {

// The statistics of complex numbers are those of the real part, except for checksum. NaN and infinities are not left
// out.
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
// buffer and errors as for measure_range.
TensorStatistics measure_statistics(const InputFile& file, const StoredTensor& tensor, std::span<std::byte> buffer);

}  // namespace msrun
