// Loops over the rows of a contiguous matrix, for the kernels that reduce along one axis: softmax, norms and losses.
//
// Rows are computed in float, or in double for float64. Sums are pairwise, so that their rounding error grows with the
// logarithm of the length; a faulty device's Summation may round every addition instead.
//
// In this folder: the engines of operators over tensors and plain memory, such as products, convolutions, reductions,
// sorting, transforms, decompositions and special functions. They know neither operator names nor the tape; what they
// must know of a faulty device is an Arithmetic.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/numeric/sums_in_order.h"
#include "kernels/tensor/arithmetic.h"
#include "kernels/tensor/convert.h"
#include "kernels/tensor/tensor.h"
#include "kernels/tensor/vector_bytes.h"

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

// Independent sums: enough to keep the adders of any processor busy, and few enough for its registers.
template <class T>
inline constexpr std::int64_t lanes = 128 / static_cast<std::int64_t>(sizeof(T));

template <class T, class F>
T sum_block(std::int64_t from, std::int64_t to, const F& f) {
  constexpr std::int64_t width = lanes<T>;
  std::array<T, width> sums{};
  std::int64_t i = from;
  for (; i + width <= to; i += width) {
    for (std::int64_t lane = 0; lane < width; ++lane) sums[static_cast<std::size_t>(lane)] += f(i + lane);
  }
  T total{};
  for (; i < to; ++i) total += f(i);
  for (std::size_t half = width / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return total + sums[0];
}

template <class T, class F>
T pairwise(std::int64_t from, std::int64_t to, const F& f) {
  constexpr std::int64_t block = 256;
  if (to - from <= block) return sum_block<T>(from, to, f);
  const std::int64_t middle = from + (to - from) / 2 / lanes<T> * lanes<T>;
  return pairwise<T>(from, middle, f) + pairwise<T>(middle, to, f);
}

}  // namespace rows_detail

// Sum of f(0) ... f(count - 1), as the summation says.
template <class T, class F>
T row_sum(std::int64_t count, const Summation& summation, const F& f) {
  count = summation.used(count);
  if constexpr (std::is_same_v<T, float>) {
    if (summation.accumulator != Accumulator::wide) {
      return with_accumulator(summation.accumulator, [&]<Accumulator A>(std::integral_constant<Accumulator, A>) {
        return sum_in_order<A>(count, summation, f);
      });
    }
  }
  return rows_detail::pairwise<T>(0, count, f);
}

// Largest element, NaN ignored; -inf for an empty row.
template <class T>
T row_max(const T* x, std::int64_t count) {
  // The compiler does not make a vector loop of comparisons that NaN must not win.
  using Group = LaneGroup<T>;
  T result = -std::numeric_limits<T>::infinity();
  std::int64_t i = 0;
  if (count >= Group::width) {
    Group group(result);
    for (; i + Group::width <= count; i += Group::width) {
      group.combine(x + i, [](auto& held, const auto& value) { held = value > held ? value : held; });
    }
    for (const T of_lane : group.lanes()) result = of_lane > result ? of_lane : result;
  }
  for (; i < count; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

// How a matrix lies in a row-major tensor: row r is made of runs of neighbouring elements, the first at r * row_step,
// the others run_step farther each.
struct RowLayout {
  std::int64_t length = 0;
  std::int64_t row_step = 0;
  std::int64_t run = 0;
  std::int64_t run_step = 0;

  // Rows one after another.
  static RowLayout plain(std::int64_t length) { return {length, length, length, length}; }
};

// Rows of a row-major tensor of any floating dtype as arrays of T: where they lie if they can be used there, else
// converted into a buffer that the next row overwrites. So half tensors need no copy of the compute dtype.
template <class T>
class RowReader {
 public:
  RowReader(const Tensor& tensor, const RowLayout& layout)
      : tensor_(tensor),
        layout_(layout),
        direct_(tensor.dtype() == own_dtype<T> && layout.run >= layout.length),
        buffer_(direct_ ? 0 : static_cast<std::size_t>(layout.length)) {}

  const T* read(std::int64_t row) {
    std::int64_t offset = row * layout_.row_step;
    if (direct_) return tensor_.data<T>() + offset;
    const auto size = static_cast<std::int64_t>(size_of(tensor_.dtype()));
    for (std::int64_t at = 0; at < layout_.length; at += layout_.run, offset += layout_.run_step) {
      load_run<T>(tensor_.dtype(), tensor_.raw() + offset * size, 1, layout_.run, buffer_.data() + at);
    }
    return buffer_.data();
  }

 private:
  Tensor tensor_;
  RowLayout layout_;
  bool direct_;
  std::vector<T> buffer_;
};

// The way back: write(row) gives room for a row, store(row) rounds it to the dtype of the tensor.
template <class T>
class RowWriter {
 public:
  RowWriter(Tensor& tensor, const RowLayout& layout)
      : target_(tensor.mutable_data<std::byte>()),
        dtype_(tensor.dtype()),
        layout_(layout),
        direct_(tensor.dtype() == own_dtype<T> && layout.run >= layout.length),
        buffer_(direct_ ? 0 : static_cast<std::size_t>(layout.length)) {}

  T* write(std::int64_t row) {
    return direct_ ? reinterpret_cast<T*>(target_) + row * layout_.row_step : buffer_.data();
  }
  void store(std::int64_t row) {
    if (direct_) return;
    const auto size = static_cast<std::int64_t>(size_of(dtype_));
    std::int64_t offset = row * layout_.row_step;
    for (std::int64_t at = 0; at < layout_.length; at += layout_.run, offset += layout_.run_step) {
      store_run<T>(dtype_, buffer_.data() + at, layout_.run, target_ + offset * size);
    }
  }

 private:
  std::byte* target_;
  DType dtype_;
  RowLayout layout_;
  bool direct_;
  std::vector<T> buffer_;
};

// total + value; if T is float, as the accumulator holds it. For the innermost loops, which are compiled for each.
template <Accumulator A, class T>
T add_step(T total, T value) {
  if constexpr (std::is_same_v<T, float>) {
    return accumulate<A>(total, value);
  } else {
    return total + value;
  }
}

template <class T>
T add_step(T total, T value, Accumulator accumulator) {
  if constexpr (std::is_same_v<T, float>) {
    if (accumulator != Accumulator::wide) {
      return with_accumulator(accumulator, [&]<Accumulator A>(std::integral_constant<Accumulator, A>) {
        return add_step<A>(total, value);
      });
    }
  }
  return total + value;
}

// [outer, rows, columns] as [outer, columns, rows], both row-major.
inline Tensor exchange_axes(const Tensor& tensor, std::int64_t outer, std::int64_t rows, std::int64_t columns) {
  return tensor.reshape(Dims{outer, rows, columns}).transpose(1, 2).contiguous();
}

}  // namespace msrun
