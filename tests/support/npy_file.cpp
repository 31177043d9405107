#include "tests/support/npy_file.h"

#include <fstream>
#include <stdexcept>
#include <string>

#include "kernels/io/numpy/npy_header.h"

namespace msrun::testing {
namespace {

NumpyType numpy_type(DType dtype) {
  for (int i = 0; i < numpy_type_count; ++i) {
    const auto type = static_cast<NumpyType>(i);
    if (tensor_dtype(type) == dtype) return type;
  }
  throw std::runtime_error("numpy has no dtype for " + std::string(torch_name(dtype)));
}

}  // namespace

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  const std::string header = npy_header_bytes(numpy_type(tensor.dtype()), tensor.shape());
  const Tensor row_major = tensor.contiguous();
  std::ofstream file(path, std::ios::binary);
  file << header;
  file.write(reinterpret_cast<const char*>(row_major.raw()), static_cast<std::streamsize>(row_major.bytes()));
  file.close();
  if (!file) throw std::runtime_error(path.string() + " cannot be written");
}

}  // namespace msrun::testing
