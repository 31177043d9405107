#include "kernels/numeric/axis_reduction.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/numeric/rows.h"
#include "kernels/numeric/sums.h"
#include "kernels/tensor/complex.h"
#include "kernels/tensor/convert.h"
#include "kernels/tensor/elementwise_map.h"

namespace msrun {
namespace {

constexpr std::int64_t block = 2048;

// A run of a tensor's elements as T: where it lies, or converted into the buffer.
template <class T>
const T* run_of(const Tensor& tensor, std::int64_t start, std::int64_t count, T* buffer) {
  if (tensor.dtype() == own_dtype<T>) return tensor.data<T>() + start;
  const auto size = static_cast<std::int64_t>(size_of(tensor.dtype()));
  load_run<T>(tensor.dtype(), tensor.raw() + start * size, 1, count, buffer);
  return buffer;
}

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
  note_sums(view.extent, view.outer * view.inner);
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

// Replaces best by value where value is better or NaN; a NaN that is there stays.
template <Extremum which, class T>
T better(T best, T value) {
  const bool wins = which == Extremum::maximum ? value > best : value < best;
  return wins || is_nan(value) ? value : best;
}

// The best of a run that is not empty.
template <Extremum which, class T>
T best_of(const T* values, std::int64_t count) {
  // The compiler does not make a vector loop of comparisons that NaN must win.
  using Vector __attribute__((vector_size(64))) = T;
  constexpr std::int64_t lanes = 64 / static_cast<std::int64_t>(sizeof(T));
  T best = values[0];
  std::int64_t i = 0;
  if (count >= 2 * lanes) {
    Vector first = Vector{} + best;
    Vector second = first;
    const auto improve = [](Vector& held, const T* from) {
      Vector value;
      std::memcpy(&value, from, sizeof(value));
      const auto wins = which == Extremum::maximum ? value > held : value < held;
      held = (wins | (value != value)) ? value : held;
    };
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      improve(first, values + i);
      improve(second, values + i + lanes);
    }
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      best = better<which>(best, static_cast<T>(first[lane]));
      best = better<which>(best, static_cast<T>(second[lane]));
    }
  }
  for (; i < count; ++i) best = better<which>(best, values[i]);
  return best;
}

// target = better(target, values), element by element.
template <Extremum which, class T>
void improve_each(T* target, const T* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) target[i] = better<which>(target[i], values[i]);
}

template <Extremum which, class T>
void extremum_into(const ReductionView& view, T* target) {
  std::array<T, block> buffer;
  for (std::int64_t o = 0; o < view.outer; ++o) {
    if (view.inner == 1) {
      for (std::int64_t start = 0; start < view.extent; start += block) {
        const std::int64_t count = std::min(block, view.extent - start);
        const T best = best_of<which>(run_of(view.tensor, o * view.extent + start, count, buffer.data()), count);
        target[o] = start == 0 ? best : better<which>(target[o], best);
      }
      continue;
    }
    for (std::int64_t start = 0; start < view.inner; start += block) {
      const std::int64_t count = std::min(block, view.inner - start);
      T* to = target + o * view.inner + start;
      for (std::int64_t r = 0; r < view.extent; ++r) {
        const T* row = run_of(view.tensor, (o * view.extent + r) * view.inner + start, count, buffer.data());
        if (r == 0) {
          std::copy_n(row, count, to);
        } else {
          improve_each<which>(to, row, count);
        }
      }
    }
  }
}

template <Extremum which, class T>
bool replaces(T best, T value) {
  const bool wins = which == Extremum::maximum ? value > best : value < best;
  return wins || (is_nan(value) && !is_nan(best));
}

// Position of the first element that equals value (is NaN, if value is), or count.
template <class T>
std::int64_t first_position(const T* values, std::int64_t count, T value) {
  constexpr std::int64_t part = 256;
  const auto same = [value](T v) { return v == value || (is_nan(v) && is_nan(value)); };
  for (std::int64_t start = 0; start < count; start += part) {
    const std::int64_t end = std::min(start + part, count);
    bool any = false;
    for (std::int64_t i = start; i < end; ++i) any |= same(values[i]);
    if (any) return std::find_if(values + start, values + end, same) - values;
  }
  return count;
}

template <Extremum which, class T>
void index_into(const ReductionView& view, std::int64_t* indices) {
  std::array<T, block> buffer;
  std::array<T, block> best;
  for (std::int64_t o = 0; o < view.outer; ++o) {
    if (view.inner == 1) {
      T held{};
      for (std::int64_t start = 0; start < view.extent; start += block) {
        const std::int64_t count = std::min(block, view.extent - start);
        const T* run = run_of(view.tensor, o * view.extent + start, count, buffer.data());
        const T value = best_of<which>(run, count);
        if (start > 0 && !replaces<which>(held, value)) continue;
        held = value;
        indices[o] = start + first_position(run, count, value);
      }
      continue;
    }
    for (std::int64_t start = 0; start < view.inner; start += block) {
      const std::int64_t count = std::min(block, view.inner - start);
      std::int64_t* index = indices + o * view.inner + start;
      std::fill_n(index, count, 0);
      for (std::int64_t r = 0; r < view.extent; ++r) {
        const T* row = run_of(view.tensor, (o * view.extent + r) * view.inner + start, count, buffer.data());
        if (r == 0) {
          std::copy_n(row, count, best.data());
          continue;
        }
        for (std::int64_t i = 0; i < count; ++i) {
          T& held = best[static_cast<std::size_t>(i)];
          const bool better_here = replaces<which>(held, row[i]);
          held = better_here ? row[i] : held;
          index[i] = better_here ? r : index[i];
        }
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
  if (is_complex(dtype)) throw SkipError("This reduction of complex tensors is not supported.");
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
  if (is_complex(tensor.dtype())) {
    const Tensor wide = tensor.to(DType::complex128);
    return part_by_part(wide, [&](const Tensor& part) { return sum(part, axes, keepdim, arithmetic); });
  }
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

Tensor extremum(Extremum which, const Tensor& tensor, const Dims& axes, bool keepdim) {
  const ReductionView view = reduction_view(tensor, axes);
  require_elements(view);
  Tensor result(wide_dtype(tensor.dtype()), keepdim ? view.keepdim_shape : view.reduced_shape);
  visit_wide(tensor.dtype(), [&](auto wide) {
    using T = decltype(wide);
    T* target = result.mutable_data<T>();
    if (which == Extremum::maximum) {
      extremum_into<Extremum::maximum, T>(view, target);
    } else {
      extremum_into<Extremum::minimum, T>(view, target);
    }
  });
  return result.to(tensor.dtype());
}

namespace {

// share_over_ties along the last axes of a row-major x.
template <class T>
void share_over_rows(const Tensor& x, const Tensor& y, const Tensor& gradient, std::int64_t rows, Tensor& result) {
  constexpr DType wide = own_dtype<T>;
  const Tensor chosen = y.to(wide).contiguous();
  const Tensor shared = gradient.to(wide).contiguous();
  const RowLayout layout = RowLayout::plain(x.numel() / rows);
  RowReader<T> reader(x, layout);
  RowWriter<T> writer(result, layout);
  for (std::int64_t row = 0; row < rows; ++row) {
    const T best = chosen.data<T>()[row];
    const bool best_is_nan = is_nan(best);
    const auto tied = [best, best_is_nan](T v) { return v == best || (best_is_nan && is_nan(v)); };
    const T* from = reader.read(row);
    T* to = writer.write(row);
    std::int64_t ties = 0;
    for (std::int64_t start = 0; start < layout.length; start += block) {
      std::int32_t here = 0;
      for (std::int64_t i = start; i < std::min(start + block, layout.length); ++i) here += tied(from[i]) ? 1 : 0;
      ties += here;
    }
    const T share = shared.data<T>()[row] / static_cast<T>(ties);
    for (std::int64_t i = 0; i < layout.length; ++i) to[i] = tied(from[i]) ? share : T{0};
    writer.store(row);
  }
}

}  // namespace

Tensor share_over_ties(const Tensor& x, const Tensor& y, const Tensor& gradient, const Dims& axes) {
  if (x.numel() > 0 && x.is_contiguous() && is_floating(x.dtype())) {
    const ReductionView view = reduction_view(x, axes);
    if (view.inner == 1 && view.tensor.raw() == x.raw()) {
      Tensor result(x.dtype(), x.shape());
      visit_compute(x.dtype(), [&](auto zero) { share_over_rows<decltype(zero)>(x, y, gradient, view.outer, result); });
      return result;
    }
  }
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
  Tensor indices(DType::int64, keepdim ? view.keepdim_shape : view.reduced_shape);
  visit_wide(tensor.dtype(), [&](auto wide) {
    using T = decltype(wide);
    auto* target = indices.mutable_data<std::int64_t>();
    if (which == Extremum::maximum) {
      index_into<Extremum::maximum, T>(view, target);
    } else {
      index_into<Extremum::minimum, T>(view, target);
    }
  });
  return indices;
}

Tensor sum_to(const Tensor& gradient, const Dims& shape, const Arithmetic& arithmetic) {
  if (gradient.shape() == shape) return gradient;
  Dims axes;
  const std::size_t added = gradient.shape().size() - shape.size();
  for (std::size_t axis = 0; axis < gradient.shape().size(); ++axis) {
    if (axis < added || (shape[axis - added] == 1 && gradient.shape()[axis] != 1)) {
      axes.push_back(static_cast<std::int64_t>(axis));
    }
  }
  return sum(gradient, axes, true, arithmetic).reshape(shape);
}

}  // namespace msrun
