#include "kernels/numeric/axis_extrema.h"

#include <algorithm>
#include <array>

#include "kernels/base/error.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/reduction_view.h"
#include "kernels/numeric/rows.h"
#include "kernels/tensor/elementwise_map.h"
#include "kernels/tensor/vector_bytes.h"

namespace msrun {
namespace {

constexpr std::int64_t block = reduction_block;

// Replaces best by value where value is better or NaN; a NaN is never replaced by a number.
template <Extremum which, class T>
T better(T best, T value) {
  const bool wins = which == Extremum::maximum ? value > best : value < best;
  return wins || is_nan(value) ? value : best;
}

// The best of a run that is not empty.
template <Extremum which, class T>
T best_of(const T* values, std::int64_t count) {
  // The compiler does not make a vector loop of comparisons that NaN must win.
  using Group = LaneGroup<T>;
  T best = values[0];
  std::int64_t i = 0;
  if (count >= Group::width) {
    Group group(best);
    for (; i + Group::width <= count; i += Group::width) {
      group.combine(values + i, [](auto& held, const auto& value) {
        const auto wins = which == Extremum::maximum ? value > held : value < held;
        const auto is_nan = value != value;  // NOLINT(misc-redundant-expression): lane by lane
        held = (wins | is_nan) ? value : held;
      });
    }
    for (const T of_lane : group.lanes()) best = better<which>(best, of_lane);
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

void require_elements(const ReductionView& view) {
  if (view.extent == 0) {
    throw SkipError("The maximum or minimum over a dimension of size 0 has no value.");
  }
}

}  // namespace

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
void share_over_rows(const Tensor& x, const Tensor& y, const Tensor& gradient, std::int64_t rows, NanTies nan_ties,
                     Tensor& result) {
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
    if (best_is_nan && nan_ties == NanTies::undefined) {
      std::fill_n(to, layout.length, best);
    } else {
      for (std::int64_t i = 0; i < layout.length; ++i) to[i] = tied(from[i]) ? share : T{0};
    }
    writer.store(row);
  }
}

}  // namespace

Tensor share_over_ties(const EvaluationContext& context, const Tensor& x, const Tensor& y, const Tensor& gradient,
                       const Dims& axes, NanTies nan_ties) {
  if (x.numel() > 0 && x.is_contiguous() && is_floating(x.dtype())) {
    const ReductionView view = reduction_view(x, axes);
    if (view.inner == 1 && view.tensor.raw() == x.raw()) {
      Tensor result(x.dtype(), x.shape());
      visit_compute(x.dtype(),
                    [&](auto zero) { share_over_rows<decltype(zero)>(x, y, gradient, view.outer, nan_ties, result); });
      return result;
    }
  }
  const auto tied = [](auto value, auto chosen) { return value == chosen || (is_nan(value) && is_nan(chosen)); };
  const Tensor all_y = expand_reduced(y, x.shape(), axes);
  const Tensor ties =
      sum(map_as(compute_of(x.dtype()), DType::boolean, x, all_y, tied), axes, true, context.with_sound_arithmetic());
  return map(x.dtype(), x, all_y, ties, expand_reduced(gradient, x.shape(), axes),
             [tied, nan_ties](auto value, auto chosen, auto count, auto g) {
               if (nan_ties == NanTies::undefined && is_nan(chosen)) return chosen;
               return tied(value, chosen) ? g / count : decltype(g){0};
             });
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

}  // namespace msrun
