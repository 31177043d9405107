// The elements of one tensor file, read block by block as double precision numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/io/files/file.h"
#include "kernels/io/stored/stored_tensor.h"
#include "kernels/tensor/tensor.h"

namespace msrun::dump_compare {

class TensorSource {
 public:
  // .pt or .npy. Throws SkipError or FileError.
  explicit TensorSource(const std::string& path);

  // Without axes of length 1.
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t count() const { return count_; }
  // As the metrics see it: bfloat16 and float8 count as float32.
  std::string_view dtype() const { return dtype_; }
  // float16 and float32: relative errors are formed in float32.
  bool single() const { return dtype_ == "float16" || dtype_ == "float32"; }
  bool complex() const { return complex_; }

  // The next elements, at most as many as fit; both spans have one length. Imaginary parts are zero unless complex().
  std::size_t read(std::span<double> real, std::span<double> imaginary);

 private:
  void open_npy(const std::string& path);
  void describe(std::span<const std::int64_t> shape);

  std::vector<std::int64_t> shape_;
  std::int64_t count_ = 0;
  std::int64_t next_ = 0;
  std::string dtype_;
  bool complex_ = false;
  Tensor tensor_;  // of a .pt file, flat
  std::unique_ptr<InputFile> file_;
  std::unique_ptr<TensorReader> reader_;  // of an .npy file
  NumpyType type_ = NumpyType::float32;
  std::vector<std::complex<double>> block_;
};

}  // namespace msrun::dump_compare
