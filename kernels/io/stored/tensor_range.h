// The smallest and largest element of a tensor in a file: one pass over its bytes as they are stored, in bounded
// memory.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/io/files/file.h"
#include "kernels/io/stored/range_collector.h"
#include "kernels/io/stored/stored_tensor.h"

namespace msrun {

// As numpy's min and max: NaN if there is any, complex numbers in lexicographic order, bool as 0 and 1. buffer is for
// the reading, at least 4 KiB. Throws SkipError if the tensor has no elements or cannot be read.
TensorRange measure_range(const InputFile& file, const StoredTensor& tensor, std::span<std::byte> buffer);

// Throws SkipError if the tensor has no elements.
void need_elements(const InputFile& file, const StoredTensor& tensor);
// The part of buffer that begins at a multiple of 64 bytes.
std::span<std::byte> aligned(std::span<std::byte> buffer);

}  // namespace msrun
