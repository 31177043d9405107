// Conversion of runs of elements between storage types; the loops that Tensor::to, the elementwise engine and the
// comparison share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/tensor/dtype.h"

namespace msrun {

// Reads count elements of dtype at source, stride elements apart (0 repeats one element), as T (float, double or
// int64). Integers narrow to float by rounding; floats convert to int64 by truncation.
template <class T>
void load_run(DType dtype, const std::byte* source, std::int64_t stride, std::int64_t count, T* target);

// Writes count values row-major, rounding to nearest even; integers wrap, as two's complement does.
template <class T>
void store_run(DType dtype, const T* source, std::int64_t count, std::byte* target);

}  // namespace msrun
