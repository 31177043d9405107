#include "tools/dump_compare/tensor_source.h"

#include <algorithm>
#include <array>
#include <complex>

#include "kernels/base/error.h"
#include "kernels/io/numpy/npy_header.h"
#include "kernels/io/torch/pt_file.h"

namespace msrun::dump_compare {

TensorSource::TensorSource(const std::string& path) {
  if (path.ends_with(".npy")) {
    open_npy(path);
    return;
  }
  if (!path.ends_with(".pt")) throw SkipError("The file " + path + " is neither .pt nor .npy.");
  const Tensor tensor = read_pt(path);
  describe(std::span(tensor.shape().begin(), tensor.shape().end()));
  count_ = tensor.numel();
  const DType dtype = tensor.dtype();
  complex_ = is_complex(dtype);
  dtype_ = dtype == DType::bfloat16 || is_float8(dtype) ? "float32" : std::string(name(dtype));
  const std::array<std::int64_t, 1> flat{tensor.numel()};
  tensor_ = tensor.contiguous().reshape(flat);
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
  std::ranges::copy_if(shape, std::back_inserter(shape_), [](std::int64_t size) { return size != 1; });
}

std::size_t TensorSource::read(std::span<double> real, std::span<double> imaginary) {
  const auto length =
      static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(real.size()), count_ - next_));
  if (length == 0) return 0;
  if (!complex_) std::fill_n(imaginary.begin(), length, 0.0);
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
