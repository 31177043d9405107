#include "tools/dump_compare/tensor_source.h"

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <filesystem>

#include "kernels/base/error.h"
#include "kernels/base/saturated.h"
#include "kernels/base/text.h"
#include "kernels/io/dump/tensor_folder.h"
#include "kernels/io/numpy/npy_header.h"
#include "kernels/io/stored/tensor_file.h"
#include "kernels/io/torch/pt_file.h"

namespace msrun::dump_compare {
namespace {

// Shares of memory are added up.
constexpr std::uint64_t most_memory = std::uint64_t{1} << 60;

void refuse_repeated(const TensorFile& file, const Tensor& tensor) {
  if (file.recorded_elements < 0 || tensor.numel() <= file.recorded_elements) return;
  const std::optional<std::uint64_t> stored = bytes_if_repeated(file.path, tensor);
  if (!stored) return;
  throw SkipError("The file " + file.path + " of " + std::to_string(*stored) + " bytes describes " +
                  std::to_string(tensor.numel()) + " elements by repeating its own, the dump says " +
                  std::to_string(file.recorded_elements) + ".");
}

void refuse_outside(const TensorFile& file) {
  namespace fs = std::filesystem;
  if (file.recording.empty()) return;
  const fs::path path = file.path;
  std::error_code ignored;
  const bool beside = path.parent_path() == fs::path(file.recording).parent_path() / tensor_folder_name;
  if (beside && !fs::is_symlink(path, ignored)) return;
  if (is_of_recording(path, file.recording)) return;
  throw SkipError(bounded(file.path) + " lies outside the folder of the dump and is not read.");
}

}  // namespace

std::uint64_t memory_of(const TensorFile& file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file.path, error);
  if (error) return 0;
  // The storage of a .pt file, and its elements in order; .npy files are read block by block.
  constexpr std::uint64_t copies = 2;
  std::uint64_t bytes = file.path.ends_with(".npy") ? 0 : saturated_product(copies, size);
  if (file.factor.empty()) return bytes;
  // Both factors, their imaginary parts and the product, all in double precision.
  constexpr std::uint64_t product_bytes = 3 * sizeof(double);
  const auto elements = static_cast<std::uint64_t>(std::max<std::int64_t>(file.recorded_elements, 0));
  const std::uintmax_t matrix = std::filesystem::file_size(file.factor, error);
  for (const std::uint64_t count : {std::max<std::uint64_t>(size, elements), error ? 0 : std::uint64_t{matrix}}) {
    if (__builtin_add_overflow(bytes, saturated_product(product_bytes, count), &bytes)) return most_memory;
  }
  return std::min(bytes, most_memory);
}

TensorSource::TensorSource(const TensorFile& file) {
  refuse_outside(file);
  if (file.path.ends_with(".npy")) {
    open_npy(file.path);
  } else {
    if (!file.path.ends_with(".pt")) throw SkipError("The file " + file.path + " is neither .pt nor .npy.");
    open_pt(file);
  }
  const bool in_rows = file.valid_rows && !full_shape_.empty() && count_ > 0;
  if (in_rows && *file.valid_rows >= 0 && *file.valid_rows < full_shape_[0]) {
    zero_from_ = count_ / full_shape_[0] * *file.valid_rows;
  }
  if (!file.factor.empty()) multiply(file.factor);
}

// As numpy.matmul(), for factors with two axes.
void TensorSource::multiply(const std::string& factor) {
  factor_applied_ = false;
  try {
    // A matrix has its elements one by one.
    TensorSource matrix({factor, std::nullopt, {}, 0});
    const auto& sizes = matrix.full_shape_;
    if (complex_ || matrix.complex_ || sizes.size() != 2 || full_shape_.empty() || full_shape_.back() != sizes[0])
      return;
    const auto inner = static_cast<std::size_t>(sizes[0]);
    const auto columns = static_cast<std::size_t>(sizes[1]);
    const std::size_t rows = inner == 0 ? 0 : static_cast<std::size_t>(count_) / inner;
    std::vector<double> right(inner * columns);
    std::vector<double> left(rows * inner);
    std::vector<double> imaginary(std::max(left.size(), right.size()));
    const auto read_all = [&](TensorSource& source, std::vector<double>& values) {
      std::size_t done = 0;
      while (done < values.size()) {
        const std::size_t rest = values.size() - done;
        const std::size_t count = source.read(std::span(values).subspan(done), std::span(imaginary).first(rest));
        if (count == 0) throw SkipError("The tensor ends before its last element.");
        done += count;
      }
    };
    read_all(matrix, right);
    read_all(*this, left);
    const bool narrow = single() && matrix.single();
    std::vector<double> product(rows * columns);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::span<double> out = std::span(product).subspan(row * columns, columns);
      for (std::size_t k = 0; k < inner; ++k) {
        const double value = left[row * inner + k];
        for (std::size_t column = 0; column < columns; ++column) out[column] += value * right[k * columns + column];
      }
      if (!narrow) continue;
      for (double& value : out) value = static_cast<double>(static_cast<float>(value));
    }
    dtype_ = narrow ? "float32" : "float64";
    std::vector<std::int64_t> shape = full_shape_;
    shape.back() = sizes[1];
    describe(shape);
    product_ = std::move(product);
    count_ = static_cast<std::int64_t>(product_.size());
    zero_from_ = std::numeric_limits<std::int64_t>::max();
    next_ = 0;
    factor_applied_ = true;
  } catch (const std::exception&) {
  }
}

void TensorSource::open_pt(const TensorFile& file) {
  tensor_ = read_pt(file.path);
  refuse_repeated(file, tensor_);
  describe(std::span(tensor_.shape().begin(), tensor_.shape().end()));
  count_ = tensor_.numel();
  const DType dtype = tensor_.dtype();
  complex_ = is_complex(dtype);
  dtype_ = dtype == DType::bfloat16 || is_float8(dtype) ? "float32" : std::string(name(dtype));
  if (!tensor_.is_contiguous()) return;
  const std::array<std::int64_t, 1> flat{count_};
  tensor_ = tensor_.reshape(flat);
}

Tensor TensorSource::block_of(std::int64_t begin, std::int64_t length) const {
  if (tensor_.is_contiguous()) return tensor_.slice(0, begin, length);
  // Where the first element stands on each axis.
  const auto axes = static_cast<std::size_t>(tensor_.rank());
  std::vector<std::int64_t> at(axes);
  std::int64_t offset = 0;
  std::int64_t rest = begin;
  for (std::size_t axis = axes; axis-- > 0;) {
    at[axis] = rest % tensor_.shape()[axis];
    rest /= tensor_.shape()[axis];
    offset += at[axis] * tensor_.strides()[axis];
  }
  const std::array<std::int64_t, 1> flat{length};
  Tensor block(tensor_.dtype(), flat);
  const std::size_t size = size_of(tensor_.dtype());
  auto* to = block.mutable_data<std::byte>();
  for (std::int64_t i = 0; i < length; ++i, to += size) {
    std::memcpy(to, tensor_.raw() + static_cast<std::size_t>(offset) * size, size);
    for (std::size_t axis = axes; axis-- > 0;) {
      offset += tensor_.strides()[axis];
      if (++at[axis] < tensor_.shape()[axis]) break;
      offset -= at[axis] * tensor_.strides()[axis];
      at[axis] = 0;
    }
  }
  return block;
}

void TensorSource::open_npy(const std::string& path) {
  file_ = std::make_unique<InputFile>(path, any_size);
  const StoredTensor stored = stored_tensor(read_npy_header(*file_));
  describe(stored.shape);
  count_ = stored.count;
  type_ = stored.type;
  complex_ = is_complex(type_);
  dtype_ = compared_type_name(stored);
  if (dtype_.starts_with("torch.")) dtype_.erase(0, 6);
  reader_ = std::make_unique<TensorReader>(*file_, stored);
}

void TensorSource::describe(std::span<const std::int64_t> shape) {
  full_shape_.assign(shape.begin(), shape.end());
  shape_.clear();
  std::ranges::copy_if(shape, std::back_inserter(shape_), [](std::int64_t size) { return size != 1; });
}

std::size_t TensorSource::read(std::span<double> real, std::span<double> imaginary) {
  const std::int64_t begin = next_;
  const std::size_t count = read_stored(real, imaginary);
  if (next_ > zero_from_) {
    const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(zero_from_ - begin, 0));
    std::fill(real.begin() + static_cast<std::ptrdiff_t>(kept), real.begin() + static_cast<std::ptrdiff_t>(count), 0.0);
    std::fill(imaginary.begin() + static_cast<std::ptrdiff_t>(kept),
              imaginary.begin() + static_cast<std::ptrdiff_t>(count), 0.0);
    if (wide_integers()) std::fill(integers_.begin() + static_cast<std::ptrdiff_t>(kept), integers_.end(), 0);
  }
  return count;
}

std::size_t TensorSource::read_stored(std::span<double> real, std::span<double> imaginary) {
  const auto length =
      static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(real.size()), count_ - next_));
  if (length == 0) return 0;
  if (!complex_) std::fill_n(imaginary.begin(), length, 0.0);
  if (!product_.empty()) {
    std::copy_n(product_.begin() + static_cast<std::ptrdiff_t>(next_), length, real.begin());
    next_ += static_cast<std::int64_t>(length);
    return length;
  }
  if (tensor_.defined()) {
    const Tensor block = block_of(next_, static_cast<std::int64_t>(length));
    if (complex_) {
      const Tensor wide = block.to(DType::complex128).contiguous();
      const auto* values = wide.data<std::complex<double>>();
      for (std::size_t i = 0; i < length; ++i) {
        real[i] = values[i].real();
        imaginary[i] = values[i].imag();
      }
    } else {
      const Tensor wide = block.to(DType::float64).contiguous();
      std::copy_n(wide.data<double>(), length, real.begin());
      if (wide_integers()) {
        const Tensor whole = block.contiguous();
        integers_.resize(length);
        std::memcpy(integers_.data(), whole.raw(), length * sizeof(std::int64_t));
      }
    }
    next_ += static_cast<std::int64_t>(length);
    return length;
  }
  if (wide_integers()) {
    integers_.resize(length);
    const std::size_t count = reader_->read(std::as_writable_bytes(std::span(integers_)));
    integers_.resize(count);
    const bool is_unsigned = dtype_ == "uint64";
    std::ranges::transform(integers_, real.begin(), [is_unsigned](std::int64_t value) {
      return is_unsigned ? static_cast<double>(static_cast<std::uint64_t>(value)) : static_cast<double>(value);
    });
    next_ += static_cast<std::int64_t>(count);
    return count;
  }
  if (!complex_) {
    const std::size_t count = reader_->read(real.first(length));
    next_ += static_cast<std::int64_t>(count);
    return count;
  }
  block_.resize(length);
  const bool narrow = type_ == NumpyType::complex64;
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(block_));
  const std::size_t count = reader_->read(bytes.first(length * size_of(type_)));
  for (std::size_t i = 0; i < count; ++i) {
    const std::complex<double> value =
        narrow ? std::complex<double>(reinterpret_cast<const std::complex<float>*>(bytes.data())[i]) : block_[i];
    real[i] = value.real();
    imaginary[i] = value.imag();
  }
  next_ += static_cast<std::int64_t>(count);
  return count;
}

}  // namespace msrun::dump_compare
