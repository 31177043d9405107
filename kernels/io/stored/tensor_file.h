// The file of a recorded tensor, whichever of the two formats it has.
#pragma once

#include <string>

#include "kernels/tensor/tensor.h"

namespace msrun {

// By suffix, .pt or .npy (acc_check_pytorch.md 6.4). dtype and shape are the file's. Throws SkipError, one sentence.
Tensor read_tensor_file(const std::string& path);

}  // namespace msrun
