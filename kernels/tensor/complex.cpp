#include "kernels/tensor/complex.h"

#include <complex>

namespace msrun {
namespace {

// The axes of a complex tensor in elements of its parts.
Dims part_strides(const Tensor& tensor) {
  Dims strides = tensor.strides();
  for (std::int64_t& stride : strides) stride *= 2;
  return strides;
}

template <class T>
void interleave(const Tensor& real, const Tensor& imaginary, Tensor& result) {
  const T* re = real.data<T>();
  const T* im = imaginary.data<T>();
  auto* to = result.mutable_data<std::complex<T>>();
  for (std::int64_t i = 0; i < result.numel(); ++i) to[i] = {re[i], im[i]};
}

template <class T>
void mirror(Tensor& tensor) {
  T* parts = tensor.mutable_data<T>();
  for (std::int64_t i = 1; i < 2 * tensor.numel(); i += 2) parts[i] = -parts[i];
}

}  // namespace

DType complex_dtype(DType real) { return real == DType::float64 ? DType::complex128 : DType::complex64; }

DType part_dtype(DType complex) { return complex == DType::complex128 ? DType::float64 : DType::float32; }

Tensor real_part(const Tensor& tensor) {
  return tensor.with_layout(part_dtype(tensor.dtype()), tensor.shape(), part_strides(tensor), 0);
}

Tensor imaginary_part(const Tensor& tensor) {
  return tensor.with_layout(part_dtype(tensor.dtype()), tensor.shape(), part_strides(tensor),
                            tensor.numel() > 0 ? 1 : 0);
}

Tensor pairs_of(const Tensor& tensor) {
  Dims shape = tensor.shape();
  Dims strides = part_strides(tensor);
  shape.push_back(2);
  strides.push_back(1);
  return tensor.with_layout(part_dtype(tensor.dtype()), shape, strides, 0);
}

Tensor conjugate(const Tensor& tensor) {
  if (!is_complex(tensor.dtype())) return tensor;
  Tensor result = tensor.clone();
  if (tensor.dtype() == DType::complex128) {
    mirror<double>(result);
  } else {
    mirror<float>(result);
  }
  return result;
}

Tensor complex_of(const Tensor& real, const Tensor& imaginary) {
  const Dims shape = broadcast_shapes(real.shape(), imaginary.shape());
  const bool wide = real.dtype() == DType::float64 || imaginary.dtype() == DType::float64;
  const DType part = wide ? DType::float64 : DType::float32;
  const Tensor re = real.to(part).expand(shape).contiguous();
  const Tensor im = imaginary.to(part).expand(shape).contiguous();
  Tensor result(complex_dtype(part), shape);
  if (wide) {
    interleave<double>(re, im, result);
  } else {
    interleave<float>(re, im, result);
  }
  return result;
}

Tensor joined_pairs(const Tensor& pairs) { return complex_of(pairs.select(-1, 0), pairs.select(-1, 1)); }

}  // namespace msrun
