// Tensor: a strided view of shared storage on the host.
//
// Storage is written once, by whoever created it, before the tensor is handed on; from then on it is shared and never
// changes. So copies and views are cheap and safe across threads, and in-place operators are evaluated as functions.
//
// In this folder: dtypes, shapes, conversion and copies of elements, random data, the memory that tensors may take, and
// the engine of elementwise functions. Not here: anything that computes with more than one element at a time
// (kernels/numeric).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "kernels/tensor/dims.h"
#include "kernels/tensor/dtype.h"

namespace msrun {

// Product of the sizes. Throws SkipError if a size is negative or the product does not fit 63 bits.
std::int64_t element_count(std::span<const std::int64_t> shape);

// "(2, 3)", "(3,)", "()": as Python prints a tuple, the form of the Shape column.
std::string tuple_text(std::span<const std::int64_t> shape);

class Tensor {
 public:
  // No tensor at all; every other member but defined() needs a defined one.
  Tensor() = default;

  // Row-major, uninitialised. Throws SkipError when the memory cannot be had.
  Tensor(DType dtype, std::span<const std::int64_t> shape);
  Tensor(DType dtype, std::initializer_list<std::int64_t> shape);

  static Tensor zeros(DType dtype, std::span<const std::int64_t> shape);
  // Every element is value, converted to dtype.
  static Tensor full(DType dtype, std::span<const std::int64_t> shape, double value);
  // A 0-d tensor.
  static Tensor scalar(DType dtype, double value);
  static Tensor scalar(std::int64_t value);
  // Row-major copy of values; T is the storage type of dtype.
  template <class T>
  static Tensor from(DType dtype, std::span<const std::int64_t> shape, std::span<const T> values);

  bool defined() const { return storage_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Dims& shape() const { return shape_; }
  const Dims& strides() const { return strides_; }  // in elements
  std::int64_t rank() const { return static_cast<std::int64_t>(shape_.size()); }
  std::int64_t size(std::int64_t axis) const;  // negative axes count from the end
  std::int64_t numel() const { return numel_; }
  std::size_t bytes() const { return static_cast<std::size_t>(numel_) * size_of(dtype_); }
  bool is_contiguous() const;

  // Address of the first element. T must be the storage type of dtype(), or std::byte.
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(raw());
  }
  // For the creator of the tensor, before anyone else sees it.
  template <class T>
  T* mutable_data() {
    return reinterpret_cast<T*>(const_cast<std::byte*>(raw()));
  }
  const std::byte* raw() const { return storage_.get() + offset_; }

  // Views: no data is copied.
  Tensor with_strides(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                      std::int64_t offset_elements) const;
  // A view of this memory as elements of another dtype, in which strides and offset are counted.
  Tensor with_layout(DType dtype, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                     std::int64_t offset_elements) const;
  Tensor permute(std::span<const std::int64_t> axes) const;
  Tensor transpose(std::int64_t a, std::int64_t b) const;
  // Leading axes may be added, sizes of 1 repeated; -1 keeps a size. Throws SkipError if the shapes do not fit.
  Tensor expand(std::span<const std::int64_t> shape) const;
  Tensor slice(std::int64_t axis, std::int64_t start, std::int64_t length, std::int64_t step = 1) const;
  Tensor select(std::int64_t axis, std::int64_t index) const;
  Tensor unsqueeze(std::int64_t axis) const;
  Tensor squeeze(std::int64_t axis) const;
  // A view where strides allow it, otherwise a copy. One size may be -1. Throws SkipError if the counts differ.
  Tensor reshape(std::span<const std::int64_t> shape) const;

  // Row-major: this tensor if it already is, else a copy.
  Tensor contiguous() const;
  // Value conversion: rounds to nearest even, float to integer truncates, non-zero to true, complex to real keeps the
  // real part.
  Tensor to(DType dtype) const;
  // A row-major copy with storage of its own.
  Tensor clone() const;

  // The element of a one-element tensor, or element index of a row-major walk, as double or int64.
  double item(std::int64_t index = 0) const;
  std::int64_t int_item(std::int64_t index = 0) const;

 private:
  std::shared_ptr<std::byte> storage_;
  std::int64_t offset_ = 0;  // bytes
  std::int64_t numel_ = 0;
  Dims shape_;
  Dims strides_;
  DType dtype_ = DType::float32;
};

// Same dtype, shape and bits of every element: 0.0 and -0.0 differ, equal NaNs do not.
bool bitwise_equal(const Tensor& a, const Tensor& b);

template <class T>
Tensor Tensor::from(DType dtype, std::span<const std::int64_t> shape, std::span<const T> values) {
  Tensor result(dtype, shape);
  std::copy(values.begin(), values.end(), result.mutable_data<T>());
  return result;
}

// Axis in [0, rank), from one that may count from the end; 0-d tensors accept -1 and 0. Throws SkipError otherwise.
std::int64_t normalize_axis(std::int64_t axis, std::int64_t rank);

// The shape to which all operands broadcast. Throws SkipError if they do not.
Dims broadcast_shapes(std::span<const std::int64_t> a, std::span<const std::int64_t> b);

Dims row_major_strides(std::span<const std::int64_t> shape);

}  // namespace msrun
