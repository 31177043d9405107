#include "kernels/numeric/axis_reduction.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "kernels/numeric/sums_in_order.h"
#include "kernels/tensor/complex.h"
#include "kernels/tensor/elementwise_map.h"

namespace msrun {
namespace {

constexpr std::int64_t block = reduction_block;

// Adds runs so that the rounding error grows with the logarithm of their number: a binary counter of partial sums.
template <class T>
class PairwiseSum {
 public:
  void add(T value) {
    std::size_t level = 0;
    for (std::uint64_t n = count_++; (n & 1) != 0; n >>= 1) value = wrapping_add(value, partial_[level++]);
    partial_[level] = value;
  }
  T total() const {
    T sum{};
    std::size_t level = 0;
    for (std::uint64_t n = count_; n != 0; n >>= 1, ++level) {
      if ((n & 1) != 0) sum = wrapping_add(sum, partial_[level]);
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
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      T& sum = sums[static_cast<std::size_t>(lane)];
      sum = wrapping_add(sum, values[i + lane]);
    }
  }
  T total{};
  for (; i < count; ++i) total = wrapping_add(total, values[i]);
  for (std::size_t width = lanes / 2; width > 0; width /= 2) {
    for (std::size_t lane = 0; lane < width; ++lane) sums[lane] = wrapping_add(sums[lane], sums[lane + width]);
  }
  return wrapping_add(total, sums[0]);
}

template <class T>
void sum_contiguous(const ReductionView& view, T* result) {
  constexpr std::int64_t part = 512;
  std::array<T, part> buffer;
  for (std::int64_t o = 0; o < view.outer; ++o) {
    PairwiseSum<T> total;
    for (std::int64_t start = 0; start < view.extent; start += part) {
      const std::int64_t count = std::min(part, view.extent - start);
      total.add(sum_block(run_of(view.tensor, o * view.extent + start, count, buffer.data()), count));
    }
    result[o] = total.total();
  }
}

template <class T>
void add_to(T* target, const T* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) target[i] = wrapping_add(target[i], values[i]);
}

template <class T>
void add_four(T* target, const T* a, const T* b, const T* c, const T* d, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    target[i] = wrapping_add(wrapping_add(wrapping_add(wrapping_add(target[i], a[i]), b[i]), c[i]), d[i]);
  }
}

// Row by row, in groups of rows whose sums are then added pairwise.
template <class T>
void sum_strided(const ReductionView& view, T* result) {
  constexpr std::int64_t group = 64;
  constexpr std::int64_t together = 4;  // rows added in one pass over the partial sums
  std::array<std::array<T, block>, together> values;
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t start = 0; start < view.inner; start += block) {
      const std::int64_t count = std::min(block, view.inner - start);
      std::vector<std::array<T, block>> levels;
      std::uint64_t groups = 0;
      for (std::int64_t row = 0; row < view.extent; row += group) {
        std::array<T, block> partial{};
        const auto values_of = [&](std::int64_t r, std::size_t buffer) {
          return run_of(view.tensor, (o * view.extent + r) * view.inner + start, count, values[buffer].data());
        };
        const std::int64_t end = std::min(row + group, view.extent);
        std::int64_t r = row;
        for (; r + together <= end; r += together) {
          add_four(partial.data(), values_of(r, 0), values_of(r + 1, 1), values_of(r + 2, 2), values_of(r + 3, 3),
                   count);
        }
        for (; r < end; ++r) add_to(partial.data(), values_of(r, 0), count);
        std::size_t level = 0;
        for (std::uint64_t n = groups++; (n & 1) != 0; n >>= 1, ++level) {
          add_to(partial.data(), levels[level].data(), count);
        }
        if (level == levels.size()) levels.emplace_back();
        levels[level] = partial;
      }
      T* target = result + o * view.inner + start;
      std::fill_n(target, count, T{});
      std::size_t level = 0;
      for (std::uint64_t n = groups; n != 0; n >>= 1, ++level) {
        if ((n & 1) == 0) continue;
        add_to(target, levels[level].data(), count);
      }
    }
  }
}

template <Accumulator A>
void sums_in_order(const ReductionView& view, const Summation& summation, float* result) {
  const Tensor values = view.tensor.to(DType::float32);
  const float* from = values.data<float>();
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      result[o * view.inner + i] = sum_in_order<A>(
          view.extent, summation, [&](std::int64_t r) { return from[(o * view.extent + r) * view.inner + i]; });
    }
  }
}

// The view without its last terms.
ReductionView first_terms(const ReductionView& view, std::int64_t extent) {
  ReductionView first = view;
  first.extent = extent;
  first.tensor = view.tensor.reshape(Dims{view.outer, view.extent, view.inner}).slice(1, 0, extent).contiguous();
  return first;
}

template <class T>
void sum_into(const ReductionView& view, const EvaluationContext& context, T* target) {
  const Summation& summation = context.arithmetic.summation;
  context.note_sums(view.extent, view.outer * view.inner, view.of_rows ? SumForm::rows : SumForm::series);
  if constexpr (std::is_same_v<T, float>) {
    if (summation.accumulator != Accumulator::wide) {
      return with_accumulator(summation.accumulator, [&]<Accumulator A>(std::integral_constant<Accumulator, A>) {
        sums_in_order<A>(view, summation, target);
      });
    }
  }
  if (view.inner == 1) {
    sum_contiguous<T>(view, target);
  } else {
    sum_strided<T>(view, target);
  }
}

template <class T>
void prod_into(const ReductionView& view, T* target) {
  const Tensor wide = view.tensor.to(own_dtype<T>);
  const T* from = wide.data<T>();
  std::fill_n(target, view.outer * view.inner, T{1});
  for (std::int64_t o = 0; o < view.outer; ++o) {
    T* row = target + o * view.inner;
    for (std::int64_t r = 0; r < view.extent; ++r, from += view.inner) {
      for (std::int64_t i = 0; i < view.inner; ++i) row[i] = wrapping_mul(row[i], from[i]);
    }
  }
}

}  // namespace

Tensor sum_unrounded(const Tensor& tensor, const Dims& axes, bool keepdim, const EvaluationContext& context) {
  if (is_complex(tensor.dtype())) {
    const Tensor wide = tensor.to(DType::complex128);
    return part_by_part(wide, [&](const Tensor& part) { return sum(part, axes, keepdim, context); });
  }
  ReductionView view = reduction_view(tensor, axes);
  if (const std::int64_t used = context.arithmetic.summation.used(view.extent); used < view.extent)
    view = first_terms(view, used);
  const DType dtype = wide_dtype(tensor.dtype());
  const DType accumulated = context.dtype_of_sums(dtype);
  Tensor result(accumulated, keepdim ? view.keepdim_shape : view.reduced_shape);
  visit_wide(accumulated, [&](auto wide) {
    using T = decltype(wide);
    sum_into<T>(view, context, result.mutable_data<T>());
  });
  return result.to(dtype);
}

Tensor sum(const Tensor& tensor, const Dims& axes, bool keepdim, const EvaluationContext& context) {
  const Tensor total = sum_unrounded(tensor, axes, keepdim, context);
  return is_floating(tensor.dtype()) || is_complex(tensor.dtype()) ? total.to(tensor.dtype()) : total;
}

Tensor prod(const Tensor& tensor, const Dims& axes, bool keepdim) {
  if (is_complex(tensor.dtype())) {
    const ReductionView view = reduction_view(tensor.to(DType::complex128), axes);
    Tensor result(DType::complex128, keepdim ? view.keepdim_shape : view.reduced_shape);
    prod_into(view, result.mutable_data<Complex>());
    return result.to(tensor.dtype());
  }
  const ReductionView view = reduction_view(tensor, axes);
  Tensor result(wide_dtype(tensor.dtype()), keepdim ? view.keepdim_shape : view.reduced_shape);
  visit_wide(tensor.dtype(), [&](auto wide) {
    using T = decltype(wide);
    prod_into<T>(view, result.mutable_data<T>());
  });
  return is_floating(tensor.dtype()) ? result.to(tensor.dtype()) : result;
}

Tensor sum_to(const Tensor& gradient, const Dims& shape, const EvaluationContext& context) {
  if (gradient.shape() == shape) return gradient;
  Dims axes;
  const std::size_t added = gradient.shape().size() - shape.size();
  for (std::size_t axis = 0; axis < gradient.shape().size(); ++axis) {
    if (axis < added || (shape[axis - added] == 1 && gradient.shape()[axis] != 1)) {
      axes.push_back(static_cast<std::int64_t>(axis));
    }
  }
  return sum(gradient, axes, true, context).reshape(shape);
}

}  // namespace msrun
