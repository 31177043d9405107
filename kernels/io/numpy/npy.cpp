#include "kernels/io/numpy/npy.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/io/numpy/npy_header.h"
#include "kernels/tensor/storage_bytes.h"

namespace msrun {
namespace {

Tensor read_array(const InputFile& file, const NpyHeader& header, std::optional<DType> dtype) {
  if (!dtype) {
    throw SkipError("The file " + file.path() + " holds the numpy dtype " + (header.big_endian ? ">" : "<") +
                    std::string(type_code(header.type)) + ", which is not supported.");
  }
  try {
    std::vector<std::int64_t> stored_shape = header.shape;
    if (header.fortran_order) std::reverse(stored_shape.begin(), stored_shape.end());
    Tensor tensor(*dtype, stored_shape);
    const std::span data(tensor.mutable_data<std::byte>(), tensor.bytes());
    file.read_at(header.data_begin, data);
    if (header.big_endian) reverse_elements(tensor.dtype(), data);
    if (tensor.dtype() == DType::boolean) normalize_booleans(data);
    if (!header.fortran_order) return tensor;
    std::vector<std::int64_t> axes(stored_shape.size());
    std::iota(axes.rbegin(), axes.rend(), 0);
    return tensor.permute(axes).contiguous();
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

}  // namespace

void write_npy(const Folder& folder, const std::string& name, const Tensor& tensor) {
  for (int i = 0; i < numpy_type_count; ++i) {
    const auto type = static_cast<NumpyType>(i);
    if (tensor_dtype(type) != tensor.dtype()) continue;
    const Tensor dense = tensor.contiguous();
    const std::string header = npy_header_bytes(type, dense.shape());
    OutputFile file(folder, name);
    file.write(std::as_bytes(std::span(header)));
    file.write(std::span(dense.raw(), dense.bytes()));
    file.close();
    return;
  }
  throw FileError(folder.path_of(name) + ": numpy has no " + std::string(msrun::name(tensor.dtype())) + ".");
}

Tensor read_npy(const InputFile& file) {
  const NpyHeader header = read_npy_header(file);
  return read_array(file, header, tensor_dtype(header.type));
}

Tensor read_npy(const std::string& path, DType uint16_as, bool* was_uint16) {
  try {
    const InputFile file(path);
    const NpyHeader header = read_npy_header(file, 0, file.size(), true);
    *was_uint16 = header.type == NumpyType::uint16;
    return read_array(file, header, *was_uint16 ? uint16_as : tensor_dtype(header.type));
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

Tensor read_npy(const std::string& path) {
  try {
    return read_npy(InputFile(path));
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

}  // namespace msrun
