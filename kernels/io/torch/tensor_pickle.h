// The pickle inside a .pt file, read by a machine that can do nothing but describe one tensor: it knows a few opcodes
// and a few names and refuses everything else, so no file can make it run or build anything (acc_check_pytorch.md
// Appendix A).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/tensor/dtype.h"

namespace msrun {

struct PickledTensor {
  DType dtype = DType::float32;
  std::string storage_key;         // the bytes are in the entry data/<storage_key>
  std::uint64_t storage_size = 0;  // bytes that the pickle claims
  std::int64_t offset = 0;         // in elements, as the strides; not yet checked against anything
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

// Throws SkipError, one sentence that names path, for anything else than one tensor.
PickledTensor read_tensor_pickle(std::string_view pickle, const std::string& path);

// The pickle of a row-major tensor whose storage is data/0.
std::string write_tensor_pickle(DType dtype, const std::vector<std::int64_t>& shape);

}  // namespace msrun
