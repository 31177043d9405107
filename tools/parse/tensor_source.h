// The tensors of one file, whichever of the known formats it has.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/io/files/file.h"
#include "kernels/io/stored/stored_tensor.h"
#include "kernels/tensor/tensor.h"

namespace msrun::parse {

// Whether a file of this name in a directory is taken for one of tensors: by its suffix, or as a dump file of the graph
// engine by its form.
bool is_tensor_file(std::string_view name);

// One tensor: described, and read block by block.
class TensorSource {
 public:
  // "input.0", the name of an array in an archive; empty for the one tensor of a file.
  std::string name;
  // As it is stored: "bfloat16", also where the elements are read as float32.
  std::string dtype;
  std::vector<std::int64_t> shape;
  // The type of the elements as they are read.
  NumpyType type = NumpyType::float32;

  // Hands out all elements in row-major order, little-endian, in pieces that hold whole elements. Throws SkipError.
  void read(const std::function<void(std::span<const std::byte>)>& take) const;

  // The tensor in memory, in the dtype that is stored where torch has it. Throws SkipError, also for elements of a type
  // that torch lacks.
  Tensor whole() const;

 private:
  friend class TensorFile;
  const InputFile* file_ = nullptr;
  StoredTensor stored_;
  Tensor tensor_;  // of a .pt file, which is read as a whole, as its elements are read
  Tensor loaded_;  // as it is in the file
};

class TensorFile {
 public:
  // Throws SkipError, one sentence that names the file, for what cannot be read.
  explicit TensorFile(const std::string& path);

  const std::vector<TensorSource>& tensors() const { return tensors_; }

 private:
  void add(std::string name, const StoredTensor& stored);
  void read_pt_file();
  void read_npz_file();
  void read_ge_file();

  std::unique_ptr<InputFile> file_;
  std::vector<TensorSource> tensors_;
};

// The statistics of numbers as float64, of complex ones of their real part. A NaN makes all but the counts NaN, as in
// NumPy.
struct Statistics {
  double smallest = 0;
  double largest = 0;
  double mean = 0;
  double l2_norm = 0;
  std::uint64_t count = 0;
  std::uint64_t nan_count = 0;
  std::uint64_t infinity_count = 0;
};

class StatisticsSum {
 public:
  void add(NumpyType type, std::span<const std::byte> elements);
  Statistics result() const;

 private:
  Statistics seen_;
  double sum_ = 0;
  double squares_ = 0;
};

}  // namespace msrun::parse
