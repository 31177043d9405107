// The file of a recorded tensor, whichever of the two formats it has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/io/torch/pt_file.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// By suffix, .pt or .npy (acc_check_pytorch.md 6.4). dtype and shape are the file's. most is that of read_pt(). Throws
// SkipError, one sentence.
Tensor read_tensor_file(const std::string& path, std::uint64_t most = most_repeated);

// The bytes of the file if the tensor that was read from it does not fit in there, because it repeats elements by
// strides of 0. Nothing for any other.
std::optional<std::uint64_t> bytes_if_repeated(const std::string& path, const Tensor& tensor);

}  // namespace msrun
