// Loops over the rows of a contiguous matrix, for the kernels that reduce along one axis: softmax, norms and losses.
//
// Rows are computed in float, or in double for float64. Sums are pairwise, so that their rounding error grows with the
// logarithm of the length; with the device's fp16 accumulation every addition is rounded to float16 instead.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "kernels/error.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// What a floating dtype is computed in: float64 for itself, float32 for the others.
inline DType compute_dtype(DType dtype) { return dtype == DType::float64 ? DType::float64 : DType::float32; }

// Row-major in the compute dtype.
inline Tensor to_compute(const Tensor& tensor) { return tensor.to(compute_dtype(tensor.dtype())).contiguous(); }

// Calls f with a value of the type that dtype is computed in.
template <class F>
decltype(auto) visit_compute(DType dtype, F&& f) {
  return dtype == DType::float64 ? f(double{}) : f(float{});
}

// A tensor without elements may have any size along its other axes: refuses those that would make loops and tables over
// single axes absurdly long. Throws SkipError.
inline void require_bounded(const Dims& shape) {
  constexpr std::int64_t limit = std::int64_t{1} << 24;
  if (element_count(shape) > 0) return;
  std::int64_t product = 1;
  for (const std::int64_t size : shape) {
    if (size > limit || (product *= std::max<std::int64_t>(size, 1)) > limit) {
      throw SkipError("An empty tensor of shape " + tuple_text(shape) + " is not supported here.");
    }
  }
}

namespace rows_detail {

inline constexpr std::int64_t lanes = 16;

template <class T, class F>
T sum_block(std::int64_t from, std::int64_t to, const F& f) {
  std::array<T, lanes> sums{};
  std::int64_t i = from;
  for (; i + lanes <= to; i += lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) sums[static_cast<std::size_t>(lane)] += f(i + lane);
  }
  T total{};
  for (; i < to; ++i) total += f(i);
  for (std::size_t width = lanes / 2; width > 0; width /= 2) {
    for (std::size_t lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
  }
  return total + sums[0];
}

template <class T, class F>
T pairwise(std::int64_t from, std::int64_t to, const F& f) {
  constexpr std::int64_t block = 256;
  if (to - from <= block) return sum_block<T>(from, to, f);
  const std::int64_t middle = from + (to - from) / 2 / lanes * lanes;
  return pairwise<T>(from, middle, f) + pairwise<T>(middle, to, f);
}

}  // namespace rows_detail

// Sum of f(0) ... f(count - 1). half_steps rounds to float16 after every addition; it has no effect on double.
template <class T, class F>
T row_sum(std::int64_t count, bool half_steps, const F& f) {
  if constexpr (std::is_same_v<T, float>) {
    if (half_steps) {
      float total = 0;
      for (std::int64_t i = 0; i < count; ++i) total = to_float(to_half(total + f(i)));
      return total;
    }
  }
  return rows_detail::pairwise<T>(0, count, f);
}

// Largest element, NaN ignored; -inf for an empty row.
template <class T>
T row_max(const T* x, std::int64_t count) {
  constexpr std::int64_t lanes = rows_detail::lanes;
  std::array<T, lanes> largest;
  largest.fill(-std::numeric_limits<T>::infinity());
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      T& best = largest[static_cast<std::size_t>(lane)];
      best = x[i + lane] > best ? x[i + lane] : best;
    }
  }
  T result = -std::numeric_limits<T>::infinity();
  for (; i < count; ++i) result = x[i] > result ? x[i] : result;
  for (const T value : largest) result = value > result ? value : result;
  return result;
}

// total + value, rounded to float16 if half_steps says so and T is float.
template <class T>
T add_step(T total, T value, bool half_steps) {
  if constexpr (std::is_same_v<T, float>) {
    if (half_steps) return to_float(to_half(total + value));
  }
  return total + value;
}

// [outer, rows, columns] as [outer, columns, rows], both row-major in a compute dtype. In tiles, so that neither side
// jumps through memory.
inline Tensor exchange_axes(const Tensor& tensor, std::int64_t outer, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t tile = 32;
  Tensor result(tensor.dtype(), {outer, columns, rows});
  if (result.numel() == 0) return result;
  visit_compute(tensor.dtype(), [&](auto element) {
    using T = decltype(element);
    for (std::int64_t o = 0; o < outer; ++o) {
      const T* from = tensor.data<T>() + o * rows * columns;
      T* to = result.mutable_data<T>() + o * rows * columns;
      for (std::int64_t row = 0; row < rows; row += tile) {
        for (std::int64_t column = 0; column < columns; column += tile) {
          const std::int64_t last_row = std::min(row + tile, rows);
          for (std::int64_t c = column; c < std::min(column + tile, columns); ++c) {
            for (std::int64_t r = row; r < last_row; ++r) to[c * rows + r] = from[r * columns + c];
          }
        }
      }
    }
  });
  return result;
}

}  // namespace msrun
