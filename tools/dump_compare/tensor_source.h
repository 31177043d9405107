// The elements of one tensor file, read block by block as double precision numbers.
#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/io/files/file.h"
#include "kernels/io/stored/stored_tensor.h"
#include "kernels/tensor/tensor.h"

namespace msrun::dump_compare {

// A tensor file, and what becomes of the tensor before it is compared.
struct TensorFile {
  std::string path;
  // Rows of axis 0 that were computed: whatever stands in those behind them counts as 0.
  std::optional<std::int64_t> valid_rows;
  std::string factor;  // file of a matrix that the tensor is multiplied with from the right; empty: none
  // Elements that the recording says the tensor has; negative: it does not say.
  std::int64_t recorded_elements = -1;
  // The dump.json that names it, in whose folder it must lie; empty: it may lie anywhere.
  std::string recording = {};
};

// Bytes that a TensorSource of the file may take while it lives.
std::uint64_t memory_of(const TensorFile& file);

class TensorSource {
 public:
  // .pt or .npy. Throws SkipError or FileError. A file may describe a tensor of any size over a few stored elements, by
  // strides of 0: one that is larger than it was recorded is refused.
  explicit TensorSource(const TensorFile& file);

  // False if there is a factor that cannot be applied; then the tensor is as it was.
  bool factor_applied() const { return factor_applied_; }

  // Without axes of length 1.
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t count() const { return count_; }
  // As the metrics see it: bfloat16 and float8 count as float32.
  std::string_view dtype() const { return dtype_; }
  // float16 and float32: relative errors are formed in float32.
  bool single() const { return dtype_ == "float16" || dtype_ == "float32"; }
  bool complex() const { return complex_; }
  // Whole numbers that may be larger than double precision tells apart.
  bool wide_integers() const { return (dtype_ == "int64" || dtype_ == "uint64") && product_.empty(); }
  // The bits of the elements that were read last, if they are such numbers.
  std::span<const std::int64_t> integers() const { return integers_; }

  // The next elements, at most as many as fit; both spans have one length. Imaginary parts are zero unless complex().
  std::size_t read(std::span<double> real, std::span<double> imaginary);

 private:
  void open_npy(const std::string& path);
  void open_pt(const TensorFile& file);
  // Elements of the .pt file in row-major order, which may be fewer in memory.
  Tensor block_of(std::int64_t begin, std::int64_t length) const;
  void describe(std::span<const std::int64_t> shape);
  void multiply(const std::string& factor);
  std::size_t read_stored(std::span<double> real, std::span<double> imaginary);

  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> full_shape_;                               // with axes of length 1
  std::int64_t zero_from_ = std::numeric_limits<std::int64_t>::max();  // elements from here on count as 0
  bool factor_applied_ = true;
  std::vector<double> product_;  // with a factor: all elements
  std::int64_t count_ = 0;
  std::int64_t next_ = 0;
  std::string dtype_;
  bool complex_ = false;
  Tensor tensor_;  // of a .pt file
  std::unique_ptr<InputFile> file_;
  std::unique_ptr<TensorReader> reader_;  // of an .npy file
  NumpyType type_ = NumpyType::float32;
  std::vector<std::complex<double>> block_;
  std::vector<std::int64_t> integers_;
};

}  // namespace msrun::dump_compare
