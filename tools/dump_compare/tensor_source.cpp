#include "tools/dump_compare/tensor_source.h"

#include <algorithm>
#include <array>
#include <complex>

#include "kernels/base/error.h"
#include "kernels/io/numpy/npy_header.h"
#include "kernels/io/torch/pt_file.h"

namespace msrun::dump_compare {

TensorSource::TensorSource(const TensorFile& file) {
  if (file.path.ends_with(".npy")) {
    open_npy(file.path);
  } else {
    if (!file.path.ends_with(".pt")) throw SkipError("The file " + file.path + " is neither .pt nor .npy.");
    const Tensor tensor = read_pt(file.path);
    describe(std::span(tensor.shape().begin(), tensor.shape().end()));
    count_ = tensor.numel();
    const DType dtype = tensor.dtype();
    complex_ = is_complex(dtype);
    dtype_ = dtype == DType::bfloat16 || is_float8(dtype) ? "float32" : std::string(name(dtype));
    const std::array<std::int64_t, 1> flat{tensor.numel()};
    tensor_ = tensor.contiguous().reshape(flat);
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
    TensorSource matrix({factor, std::nullopt, {}});
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
    const Tensor block = tensor_.slice(0, next_, static_cast<std::int64_t>(length));
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
    }
    next_ += static_cast<std::int64_t>(length);
    return length;
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
