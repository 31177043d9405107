#include "kernels/ops/reduce.h"

#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>
#include <vector>

#include "kernels/error.h"
#include "kernels/ops/elementwise.h"
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

template <class T>
void add_to(T* target, const T* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) target[i] = wrapping_add(target[i], values[i]);
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
          add_to(partial.data(), values.data(), count);
        }
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
void sum_into(const ReductionView& view, const Arithmetic& arithmetic, T* target) {
  if constexpr (std::is_same_v<T, float>) {
    if (arithmetic.fp16_accumulation) return sum_rounding_to_half(view, target);
  }
  if (view.inner == 1) {
    sum_contiguous<T>(view, target);
  } else {
    sum_strided<T>(view, target);
  }
}

template <class T>
void prod_into(const ReductionView& view, T* target) {
  const Tensor wide = view.tensor.to(wide_dtype(view.tensor.dtype()));
  const T* from = wide.data<T>();
  std::fill_n(target, view.outer * view.inner, T{1});
  for (std::int64_t o = 0; o < view.outer; ++o) {
    T* row = target + o * view.inner;
    for (std::int64_t r = 0; r < view.extent; ++r, from += view.inner) {
      for (std::int64_t i = 0; i < view.inner; ++i) row[i] = wrapping_mul(row[i], from[i]);
    }
  }
}

// Replaces best by value where value is better or NaN; a NaN that is there stays.
template <Extremum which, class T>
T better(T best, T value) {
  const bool wins = which == Extremum::maximum ? value > best : value < best;
  return wins || is_nan(value) ? value : best;
}

template <Extremum which, class T>
T best_of(const T* values, std::int64_t count) {
  constexpr std::int64_t lanes = 16;
  std::array<T, lanes> best;
  best.fill(values[0]);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      best[static_cast<std::size_t>(lane)] = better<which>(best[static_cast<std::size_t>(lane)], values[i + lane]);
    }
  }
  for (; i < count; ++i) best[0] = better<which>(best[0], values[i]);
  for (const T lane : best) best[0] = better<which>(best[0], lane);
  return best[0];
}

template <Extremum which, class T>
void extremum_into(const ReductionView& view, const T* from, T* target) {
  for (std::int64_t o = 0; o < view.outer; ++o, target += view.inner, from += view.extent * view.inner) {
    if (view.inner == 1) {
      *target = best_of<which>(from, view.extent);
      continue;
    }
    std::copy_n(from, view.inner, target);
    for (std::int64_t r = 1; r < view.extent; ++r) {
      const T* row = from + r * view.inner;
      for (std::int64_t i = 0; i < view.inner; ++i) target[i] = better<which>(target[i], row[i]);
    }
  }
}

template <Extremum which, class T>
bool replaces(T best, T value) {
  const bool wins = which == Extremum::maximum ? value > best : value < best;
  return wins || (is_nan(value) && !is_nan(best));
}

// best has room for one row.
template <Extremum which, class T>
void index_into(const ReductionView& view, const T* from, T* best, std::int64_t* indices) {
  for (std::int64_t o = 0; o < view.outer; ++o, indices += view.inner, from += view.extent * view.inner) {
    std::copy_n(from, view.inner, best);
    std::fill_n(indices, view.inner, 0);
    if (view.inner == 1) {
      for (std::int64_t r = 1; r < view.extent; ++r) {
        if (!replaces<which>(best[0], from[r])) continue;
        best[0] = from[r];
        indices[0] = r;
      }
      continue;
    }
    for (std::int64_t r = 1; r < view.extent; ++r) {
      const T* row = from + r * view.inner;
      for (std::int64_t i = 0; i < view.inner; ++i) {
        const bool better_here = replaces<which>(best[i], row[i]);
        best[i] = better_here ? row[i] : best[i];
        indices[i] = better_here ? r : indices[i];
      }
    }
  }
}

// Calls f with a value of the type in which a reduction of dtype is computed.
template <class F>
void visit_wide(DType dtype, F f) {
  switch (wide_dtype(dtype)) {
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    default:
      return f(std::int64_t{});
  }
}

void require_elements(const ReductionView& view) {
  if (view.extent == 0) {
    throw SkipError("The maximum or minimum over a dimension of size 0 has no value.");
  }
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

DType wide_dtype(DType dtype) {
  if (is_complex(dtype)) throw SkipError("Reductions of complex tensors are not supported.");
  if (dtype == DType::float64) return DType::float64;
  return is_floating(dtype) ? DType::float32 : DType::int64;
}

Dims reduced_shape(const Dims& shape, const Dims& axes, bool keepdim) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  Dims reduced(std::max<std::size_t>(shape.size(), 1), axes.empty() ? 1 : 0);
  for (const std::int64_t axis : axes) reduced[static_cast<std::size_t>(normalize_axis(axis, rank))] = 1;
  Dims result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (reduced[axis] == 0) {
      result.push_back(shape[axis]);
    } else if (keepdim) {
      result.push_back(1);
    }
  }
  return result;
}

std::int64_t reduced_count(const Dims& shape, const Dims& axes) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::int64_t count = 1;
  if (axes.empty()) {
    for (const std::int64_t size : shape) count *= size;
  }
  for (const std::int64_t axis : axes) {
    if (rank > 0) count *= shape[static_cast<std::size_t>(normalize_axis(axis, rank))];
  }
  return count;
}

Tensor expand_reduced(const Tensor& reduced, const Dims& shape, const Dims& axes) {
  return reduced.reshape(reduced_shape(shape, axes, true)).expand(shape);
}

Tensor sum_unrounded(const Tensor& tensor, const Dims& axes, bool keepdim, const Arithmetic& arithmetic) {
  const ReductionView view = reduction_view(tensor, axes);
  Tensor result(wide_dtype(tensor.dtype()), keepdim ? view.keepdim_shape : view.reduced_shape);
  visit_wide(tensor.dtype(), [&](auto wide) {
    using T = decltype(wide);
    sum_into<T>(view, arithmetic, result.mutable_data<T>());
  });
  return result;
}

Tensor sum(const Tensor& tensor, const Dims& axes, bool keepdim, const Arithmetic& arithmetic) {
  const Tensor total = sum_unrounded(tensor, axes, keepdim, arithmetic);
  return is_floating(tensor.dtype()) ? total.to(tensor.dtype()) : total;
}

Tensor prod(const Tensor& tensor, const Dims& axes, bool keepdim) {
  const ReductionView view = reduction_view(tensor, axes);
  Tensor result(wide_dtype(tensor.dtype()), keepdim ? view.keepdim_shape : view.reduced_shape);
  visit_wide(tensor.dtype(), [&](auto wide) {
    using T = decltype(wide);
    prod_into<T>(view, result.mutable_data<T>());
  });
  return is_floating(tensor.dtype()) ? result.to(tensor.dtype()) : result;
}

Tensor extremum(Extremum which, const Tensor& tensor, const Dims& axes, bool keepdim) {
  const ReductionView view = reduction_view(tensor, axes);
  require_elements(view);
  const Tensor wide_tensor = view.tensor.to(wide_dtype(tensor.dtype()));
  Tensor result(wide_tensor.dtype(), keepdim ? view.keepdim_shape : view.reduced_shape);
  visit_wide(tensor.dtype(), [&](auto wide) {
    using T = decltype(wide);
    T* target = result.mutable_data<T>();
    if (which == Extremum::maximum) {
      extremum_into<Extremum::maximum, T>(view, wide_tensor.data<T>(), target);
    } else {
      extremum_into<Extremum::minimum, T>(view, wide_tensor.data<T>(), target);
    }
  });
  return result.to(tensor.dtype());
}

Tensor share_over_ties(const Tensor& x, const Tensor& y, const Tensor& gradient, const Dims& axes) {
  const auto tied = [](auto value, auto chosen) { return value == chosen || (is_nan(value) && is_nan(chosen)); };
  const Tensor all_y = expand_reduced(y, x.shape(), axes);
  const Tensor ties = sum(map_as(compute_of(x.dtype()), DType::boolean, x, all_y, tied), axes, true);
  return map(
      x.dtype(), x, all_y, ties, expand_reduced(gradient, x.shape(), axes),
      [tied](auto value, auto chosen, auto count, auto g) { return tied(value, chosen) ? g / count : decltype(g){0}; });
}

Tensor extremum_index(Extremum which, const Tensor& tensor, std::int64_t axis, bool keepdim) {
  const ReductionView view = reduction_view(tensor, {axis});
  require_elements(view);
  const Tensor wide_tensor = view.tensor.to(wide_dtype(tensor.dtype()));
  Tensor indices(DType::int64, keepdim ? view.keepdim_shape : view.reduced_shape);
  visit_wide(tensor.dtype(), [&](auto wide) {
    using T = decltype(wide);
    const std::unique_ptr<T[]> best = std::make_unique<T[]>(static_cast<std::size_t>(view.inner));
    auto* target = indices.mutable_data<std::int64_t>();
    if (which == Extremum::maximum) {
      index_into<Extremum::maximum, T>(view, wide_tensor.data<T>(), best.get(), target);
    } else {
      index_into<Extremum::minimum, T>(view, wide_tensor.data<T>(), best.get(), target);
    }
  });
  return indices;
}

}  // namespace msrun
