// Writes what the readers of numpy's files are shown.
#pragma once

#include <filesystem>

#include "kernels/tensor/tensor.h"

namespace msrun::testing {

// A .npy file of format version 1, row-major, little-endian. Throws std::runtime_error for the dtypes that numpy lacks
// (bfloat16, float8) and if the file cannot be written.
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace msrun::testing
