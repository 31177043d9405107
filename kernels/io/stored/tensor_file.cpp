#include "kernels/io/stored/tensor_file.h"

#include <filesystem>

#include "kernels/base/error.h"
#include "kernels/io/files/file.h"
#include "kernels/io/numpy/npy.h"

namespace msrun {

Tensor read_tensor_file(const std::string& path, std::uint64_t most) {
  try {
    const InputFile file(path);
    if (path.ends_with(".pt")) return read_pt(file, most);
    if (path.ends_with(".npy")) return read_npy(file);
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
  throw SkipError("The file: " + path + " is not a pt or numpy file.");
}

std::optional<std::uint64_t> bytes_if_repeated(const std::string& path, const Tensor& tensor) {
  std::error_code error;
  const std::uintmax_t stored = std::filesystem::file_size(path, error);
  const double described = static_cast<double>(tensor.numel()) * static_cast<double>(size_of(tensor.dtype()));
  if (error || described <= static_cast<double>(stored)) return std::nullopt;
  return stored;
}

}  // namespace msrun
