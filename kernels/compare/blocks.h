// What the metric loops share: reading tensors block by block, rounding to the precision of an array, and sums and
// maxima that do not depend on how a loop is vectorised. Included by the metric files only.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/tensor/convert.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

constexpr std::int64_t block_size = 512;
constexpr std::int64_t lanes = 32;  // block_size is a multiple
static_assert(block_size % lanes == 0);

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
      load_run<T>(dtype_, base_ + offset_ * static_cast<std::int64_t>(size_of(dtype_)), strides_.back(), run, target);
      target += run;
      count -= run;
      advance(run);
    }
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

// The values of an array of this precision: what a result is rounded to.
enum class Grid : std::uint8_t { half, single, real };

// The float16 value nearest to value. As to_float(to_half(value)), but in 32-bit words throughout, so that loops
// vectorise.
inline float rounded_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const auto normal = (magnitude + 0xFFFU + ((magnitude >> 13) & 1U)) & ~0x1FFFU;
  // Below 2^-14: the float adder rounds to multiples of 2^-24 next to 0.5.
  const auto subnormal = std::bit_cast<std::uint32_t>((std::bit_cast<float>(magnitude) + 0.5F) - 0.5F);
  std::uint32_t result = magnitude < (113U << 23) ? subnormal : normal;
  result = magnitude >= 0x477FF000U ? 0x7F800000U : result;
  result = magnitude > 0x7F800000U ? magnitude : result;
  return std::bit_cast<float>((bits & 0x80000000U) | result);
}

template <Grid G, class T>
T on_grid(T value) {
  if constexpr (G == Grid::half) {
    return rounded_to_half(static_cast<float>(value));
  } else if constexpr (G == Grid::single) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

// A sum whose order of additions is fixed: element i goes to lane i mod 32.
class LaneSum {
 public:
  double& operator[](std::int64_t lane) { return sums_[static_cast<std::size_t>(lane)]; }
  double total() const {
    auto sums = sums_;
    for (std::size_t width = sums.size() / 2; width > 0; width /= 2) {
      for (std::size_t i = 0; i < width; ++i) sums[i] += sums[i + width];
    }
    return sums[0];
  }

 private:
  std::array<double, lanes> sums_{};
};

// The largest of many values that are not negative, or NaN if one of them is: their bit patterns are ordered so.
template <class T>
using BitsOf = std::conditional_t<std::is_same_v<T, float>, std::int32_t, std::int64_t>;

template <class T>
BitsOf<T> bits_of(T value) {
  return std::bit_cast<BitsOf<T>>(value);
}

}  // namespace msrun
