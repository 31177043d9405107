// Reading a pair of tensors block by block, as the loops of metrics and estimates do.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/tensor/convert.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// Elements of a block: a handful of arrays of so many stay in the first-level cache.
template <class T>
inline constexpr std::int64_t block_size = 4096 / static_cast<std::int64_t>(sizeof(T));

// Reads the elements of a strided tensor in row-major order, block by block.
class Reader {
 public:
  explicit Reader(const Tensor& tensor) : dtype_(tensor.dtype()), base_(tensor.raw()) {
    for (std::size_t axis = 0; axis < tensor.shape().size(); ++axis) {
      const std::int64_t size = tensor.shape()[axis];
      const std::int64_t stride = tensor.strides()[axis];
      if (size == 1) continue;
      if (!shape_.empty() && strides_.back() == stride * size) {
        shape_.back() *= size;
        strides_.back() = stride;
      } else {
        shape_.push_back(size);
        strides_.push_back(stride);
      }
    }
    if (shape_.empty()) {
      shape_.push_back(1);
      strides_.push_back(1);
    }
    position_.resize(shape_.size());
  }

  template <class T>
  void read(T* target, std::int64_t count) {
    while (count > 0) {
      const std::int64_t run = std::min(count, shape_.back() - position_.back());
      load_run<T>(dtype_, address(), strides_.back(), run, target);
      target += run;
      count -= run;
      advance(run);
    }
  }

  // Address of the next count elements if they lie there as T, which are then passed over; else null.
  template <class T>
  const T* read_in_place(DType dtype_of_t, std::int64_t count) {
    const bool lie_there = dtype_ == dtype_of_t && strides_.back() == 1 && shape_.back() - position_.back() >= count;
    if (!lie_there) return nullptr;
    const T* result = reinterpret_cast<const T*>(address());
    advance(count);
    return result;
  }

  // Bytes that will be read next if they follow each other in memory; fewer, or none, if not.
  const std::byte* address() const { return base_ + offset_ * static_cast<std::int64_t>(size_of(dtype_)); }
  std::int64_t bytes_in_a_row() const {
    if (strides_.back() != 1) return 0;
    return (shape_.back() - position_.back()) * static_cast<std::int64_t>(size_of(dtype_));
  }

 private:
  void advance(std::int64_t run) {
    position_.back() += run;
    offset_ += run * strides_.back();
    for (std::size_t axis = shape_.size() - 1; axis > 0 && position_[axis] == shape_[axis]; --axis) {
      offset_ += strides_[axis - 1] - shape_[axis] * strides_[axis];
      position_[axis] = 0;
      ++position_[axis - 1];
    }
  }

  DType dtype_;
  const std::byte* base_;
  std::int64_t offset_ = 0;
  Dims shape_;  // neighbouring axes merged
  Dims strides_;
  Dims position_;
};

// Calls visit(x, y, first, count) for the elements of two tensors of one shape, block by block in row-major order, as
// double. What it makes of its block it may write there.
template <class Visit>
void for_each_block(const Tensor& left, const Tensor& right, const Visit& visit) {
  constexpr std::int64_t block = block_size<double>;
  Reader of_left(left);
  Reader of_right(right);
  std::array<double, block> x;
  std::array<double, block> y;
  for (std::int64_t done = 0; done < left.numel(); done += block) {
    const std::int64_t count = std::min(block, left.numel() - done);
    of_left.read(x.data(), count);
    of_right.read(y.data(), count);
    visit(x.data(), y.data(), done, count);
  }
}

}  // namespace msrun
