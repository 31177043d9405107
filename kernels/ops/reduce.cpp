#include "kernels/ops/reduce.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/error.h"
#include "kernels/tensor/convert.h"

namespace msrun {
namespace {

constexpr std::int64_t block = 512;

// Adds runs so that the rounding error grows with the logarithm of their number: a binary counter of partial sums.
template <class T>
class PairwiseSum {
 public:
  void add(T value) {
    std::size_t level = 0;
    for (std::uint64_t n = count_++; (n & 1) != 0; n >>= 1) value += partial_[level++];
    partial_[level] = value;
  }
  T total() const {
    T sum{};
    std::size_t level = 0;
    for (std::uint64_t n = count_; n != 0; n >>= 1, ++level) {
      if ((n & 1) != 0) sum += partial_[level];
    }
    return sum;
  }

 private:
  std::uint64_t count_ = 0;
  std::array<T, 64> partial_;
};

// Sixteen independent sums, which the compiler keeps in vector registers.
template <class T>
T sum_block(const T* values, std::int64_t count) {
  constexpr std::int64_t lanes = 16;
  std::array<T, lanes> sums{};
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) sums[static_cast<std::size_t>(lane)] += values[i + lane];
  }
  T total{};
  for (; i < count; ++i) total += values[i];
  for (std::size_t width = lanes / 2; width > 0; width /= 2) {
    for (std::size_t lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
  }
  return total + sums[0];
}

template <class T>
void sum_contiguous(const ReductionView& view, T* result) {
  const auto size = static_cast<std::int64_t>(size_of(view.tensor.dtype()));
  std::array<T, block> buffer;
  for (std::int64_t o = 0; o < view.outer; ++o) {
    PairwiseSum<T> total;
    for (std::int64_t start = 0; start < view.extent; start += block) {
      const std::int64_t count = std::min(block, view.extent - start);
      load_run<T>(view.tensor.dtype(), view.tensor.raw() + (o * view.extent + start) * size, 1, count, buffer.data());
      total.add(sum_block(buffer.data(), count));
    }
    result[o] = total.total();
  }
}

// Row by row, in groups of rows whose sums are then added pairwise.
template <class T>
void sum_strided(const ReductionView& view, T* result) {
  constexpr std::int64_t group = 64;
  const auto size = static_cast<std::int64_t>(size_of(view.tensor.dtype()));
  std::array<T, block> values;
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t start = 0; start < view.inner; start += block) {
      const std::int64_t count = std::min(block, view.inner - start);
      std::vector<std::array<T, block>> levels;
      std::uint64_t groups = 0;
      for (std::int64_t row = 0; row < view.extent; row += group) {
        std::array<T, block> partial{};
        for (std::int64_t r = row; r < std::min(row + group, view.extent); ++r) {
          load_run<T>(view.tensor.dtype(), view.tensor.raw() + ((o * view.extent + r) * view.inner + start) * size, 1,
                      count, values.data());
          for (std::int64_t i = 0; i < count; ++i) partial[static_cast<std::size_t>(i)] += values[static_cast<std::size_t>(i)];
        }
        std::size_t level = 0;
        for (std::uint64_t n = groups++; (n & 1) != 0; n >>= 1, ++level) {
          for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) partial[i] += levels[level][i];
        }
        if (level == levels.size()) levels.emplace_back();
        levels[level] = partial;
      }
      T* target = result + o * view.inner + start;
      std::fill_n(target, count, T{});
      std::size_t level = 0;
      for (std::uint64_t n = groups; n != 0; n >>= 1, ++level) {
        if ((n & 1) == 0) continue;
        for (std::int64_t i = 0; i < count; ++i) target[i] += levels[level][static_cast<std::size_t>(i)];
      }
    }
  }
}

void sum_rounding_to_half(const ReductionView& view, float* result) {
  const Tensor values = view.tensor.to(DType::float32);
  const float* from = values.data<float>();
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      float total = 0;
      for (std::int64_t r = 0; r < view.extent; ++r) {
        total = to_float(to_half(total + from[(o * view.extent + r) * view.inner + i]));
      }
      result[o * view.inner + i] = total;
    }
  }
}

template <class T>
Tensor sum_in(const ReductionView& view, DType compute, DType dtype, const Dims& shape, const Arithmetic& arithmetic) {
  Tensor result(compute, shape);
  T* target = result.mutable_data<T>();
  if constexpr (std::is_same_v<T, float>) {
    if (arithmetic.fp16_accumulation) {
      sum_rounding_to_half(view, target);
      return result.to(dtype);
    }
  }
  if (view.inner == 1) {
    sum_contiguous<T>(view, target);
  } else {
    sum_strided<T>(view, target);
  }
  return result.to(dtype);
}

}  // namespace

ReductionView reduction_view(const Tensor& tensor, const Dims& axes) {
  const std::int64_t rank = tensor.rank();
  Dims reduced(static_cast<std::size_t>(std::max<std::int64_t>(rank, 1)));
  for (const std::int64_t axis : axes) {
    std::int64_t& mark = reduced[static_cast<std::size_t>(normalize_axis(axis, rank))];
    if (mark != 0) throw SkipError("A dimension appears twice in the list of dimensions to reduce.");
    mark = 1;
  }
  if (axes.empty()) std::fill(reduced.begin(), reduced.end(), 1);
  ReductionView view;
  Dims kept_outer;
  Dims middle;
  Dims kept_inner;
  bool scattered = false;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    if (reduced[at] != 0) {
      scattered = scattered || !kept_inner.empty();
      middle.push_back(axis);
      view.keepdim_shape.push_back(1);
    } else {
      (middle.empty() ? kept_outer : kept_inner).push_back(axis);
      view.keepdim_shape.push_back(tensor.shape()[at]);
      view.reduced_shape.push_back(tensor.shape()[at]);
    }
  }
  const auto product = [&](const Dims& list) {
    std::int64_t count = 1;
    for (const std::int64_t axis : list) count *= tensor.shape()[static_cast<std::size_t>(axis)];
    return count;
  };
  view.extent = product(middle);
  if (scattered) {
    Dims order = kept_outer;
    for (const std::int64_t axis : kept_inner) order.push_back(axis);
    for (const std::int64_t axis : middle) order.push_back(axis);
    view.tensor = tensor.permute(order).contiguous();
    view.outer = product(kept_outer) * product(kept_inner);
  } else {
    view.tensor = tensor.contiguous();
    view.outer = product(kept_outer);
    view.inner = product(kept_inner);
  }
  return view;
}

Tensor sum(const Tensor& tensor, const Dims& axes, bool keepdim, const Arithmetic& arithmetic) {
  const ReductionView view = reduction_view(tensor, axes);
  const Dims& shape = keepdim ? view.keepdim_shape : view.reduced_shape;
  if (tensor.dtype() == DType::float64) return sum_in<double>(view, DType::float64, DType::float64, shape, arithmetic);
  if (is_floating(tensor.dtype())) return sum_in<float>(view, DType::float32, tensor.dtype(), shape, arithmetic);
  return sum_in<std::int64_t>(view, DType::int64, DType::int64, shape, arithmetic);
}

}  // namespace msrun
