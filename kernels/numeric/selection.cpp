#include "kernels/numeric/selection.h"

#include <algorithm>
#include <complex>
#include <cstring>

#include "kernels/base/error.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/rows.h"
#include "kernels/tensor/complex.h"
#include "kernels/tensor/elementwise_map.h"
#include "kernels/tensor/memory.h"

namespace msrun {
namespace {

// Indices may broadcast to any number of runs.
void reserve_starts(Selection& selection, std::int64_t count) {
  check_tensor_memory(static_cast<std::size_t>(count), sizeof(std::int64_t));
  selection.starts.reserve(static_cast<std::size_t>(count));
}

template <class F>
void visit_size(DType dtype, F f) {
  switch (size_of(dtype)) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    default:
      return f(std::complex<double>{});
  }
}

// Calls row(offset) for every combination of the outer axes of a view with these strides, in row-major order.
template <class F>
void for_each_offset(const Dims& shape, const Dims& strides, F row) {
  if (element_count(shape) == 0) return;
  Dims index(shape.size());
  std::int64_t offset = 0;
  while (true) {
    row(offset);
    std::size_t axis = shape.size();
    while (axis-- > 0) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
    if (axis >= shape.size()) return;
  }
}

std::int64_t offset_in(const Tensor& source, const Tensor& view) {
  return (view.raw() - source.raw()) / static_cast<std::int64_t>(size_of(source.dtype()));
}

// Splits the trailing axes that lie together in memory off the shape and returns their number of elements.
std::int64_t split_run(Dims& shape, Dims& strides) {
  std::int64_t run = 1;
  while (!shape.empty() && (shape.back() == 1 || strides.back() == run)) {
    run *= shape.back();
    shape.pop_back();
    strides.pop_back();
  }
  return run;
}

// An integer index, or a mask replaced by one index per axis of it.
std::vector<Tensor> without_masks(const Tensor& view, std::span<const Tensor> indices) {
  std::vector<Tensor> result;
  for (const Tensor& index : indices) {
    const bool mask = index.defined() && (index.dtype() == DType::boolean || index.dtype() == DType::uint8);
    if (!mask) {
      result.push_back(index);
      continue;
    }
    const Dims& shape = index.shape();
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::size_t axis = result.size() + i;
      if (axis >= view.shape().size() || view.shape()[axis] != shape[i]) {
        throw SkipError("The shape of the mask " + tuple_text(shape) +
                        " does not match the shape of the indexed tensor " + tuple_text(view.shape()) + ".");
      }
    }
    const std::vector<std::int64_t> positions = nonzero_positions(index);
    const auto count = static_cast<std::int64_t>(positions.size());
    const Dims strides = row_major_strides(shape);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      Tensor axis_index(DType::int64, {count});
      auto* target = axis_index.mutable_data<std::int64_t>();
      for (const std::int64_t position : positions) *target++ = position / strides[i] % shape[i];
      result.push_back(axis_index);
    }
  }
  return result;
}

// Where the elements of one row of a gather index lead: element i with value v to base + v * along + i * beside. Along
// the last axis that needs no products.
struct GatherSteps {
  std::int64_t base = 0;
  std::int64_t along = 1;
  std::int64_t beside = 0;
  std::int64_t position(std::int64_t value, std::int64_t i) const { return base + value * along + i * beside; }
};
struct GatherStepsAlongRow {
  std::int64_t base = 0;
  std::int64_t position(std::int64_t value, std::int64_t /*i*/) const { return base + value; }
};

// Calls row(values, count, steps) for the rows of a row-major gather index over a tensor of the given shape, when their
// values are checked. Throws SkipError where index and shape do not fit.
template <class Row>
void for_each_gathered_row(const Dims& shape, std::int64_t axis, const Tensor& index, const Row& row) {
  // A 0-d tensor is indexed as one of size 1.
  const Dims sizes = shape.empty() ? Dims{1} : shape;
  Dims counts = index.rank() == 0 ? Dims{1} : index.shape();
  const auto along = static_cast<std::size_t>(normalize_axis(axis, static_cast<std::int64_t>(sizes.size())));
  if (index.numel() == 0) return;
  if (counts.size() != sizes.size()) {
    throw SkipError("Index tensor must have the same number of dimensions as the input tensor.");
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i != along && counts[i] > sizes[i]) {
      throw SkipError("The index of shape " + tuple_text(index.shape()) + " is larger than the tensor of shape " +
                      tuple_text(shape) + " outside of the indexed dimension.");
    }
  }
  Dims strides = row_major_strides(sizes);
  GatherSteps steps;
  steps.along = strides[along];
  strides[along] = 0;
  steps.beside = strides.back();
  const std::int64_t count = counts.back();
  counts.pop_back();
  strides.pop_back();
  const auto* values = index.data<std::int64_t>();
  const auto size = static_cast<std::uint64_t>(sizes[along]);
  for_each_offset(counts, strides, [&](std::int64_t offset) {
    bool outside = false;
    for (std::int64_t i = 0; i < count; ++i) outside |= static_cast<std::uint64_t>(values[i]) >= size;
    if (outside) {
      for (std::int64_t i = 0; i < count; ++i) checked_index(values[i], sizes[along], false);
    }
    if (steps.along == 1 && steps.beside == 0) {
      row(values, count, GatherStepsAlongRow{offset});
    } else {
      steps.base = offset;
      row(values, count, steps);
    }
    values += count;
  });
}

template <class T>
void add_runs(const Selection& selection, const T* values, T alpha, Accumulator accumulator, T* target) {
  for (const std::int64_t start : selection.starts) {
    T* to = target + start;
    if constexpr (std::is_same_v<T, float>) {
      if (accumulator != Accumulator::wide) {
        with_accumulator(accumulator, [&]<Accumulator A>(std::integral_constant<Accumulator, A>) {
          for (std::int64_t i = 0; i < selection.run; ++i) to[i] = accumulate<A>(to[i], alpha * values[i]);
        });
        values += selection.run;
        continue;
      }
    }
    for (std::int64_t i = 0; i < selection.run; ++i) to[i] = wrapping_add(to[i], wrapping_mul(alpha, values[i]));
    values += selection.run;
  }
}

}  // namespace

Tensor index_values(const Tensor& index) {
  if (!is_integer(index.dtype())) {
    throw SkipError("An index tensor must have an integer dtype, not " + std::string(name(index.dtype())) + ".");
  }
  return index.to(DType::int64).contiguous();
}

std::int64_t checked_index(std::int64_t index, std::int64_t size, bool wraps) {
  const std::int64_t position = wraps && index < 0 ? index + size : index;
  if (position < 0 || position >= size) {
    throw SkipError("index " + std::to_string(index) + " is out of bounds for dimension with size " +
                    std::to_string(size) + ".");
  }
  return position;
}

Selection gather_selection(const Dims& shape, std::int64_t axis, const Tensor& index) {
  const Tensor values = index_values(index);
  Selection selection;
  selection.shape = values.shape();
  check_tensor_memory(static_cast<std::size_t>(values.numel()), sizeof(std::int64_t));
  selection.starts.resize(static_cast<std::size_t>(values.numel()));
  std::int64_t* start = selection.starts.data();
  for_each_gathered_row(shape, axis, values, [&](const std::int64_t* at, std::int64_t count, const auto& steps) {
    for (std::int64_t i = 0; i < count; ++i) *start++ = steps.position(at[i], i);
  });
  return selection;
}

Tensor gather_elements(const Tensor& x, std::int64_t axis, const Tensor& index) {
  const Tensor source = x.contiguous();
  const Tensor values = index_values(index);
  Tensor result(x.dtype(), values.shape());
  visit_size(x.dtype(), [&](auto element) {
    using T = decltype(element);
    const T* from = source.data<T>();
    T* to = result.mutable_data<T>();
    for_each_gathered_row(x.shape(), axis, values, [&](const std::int64_t* at, std::int64_t count, const auto& steps) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[steps.position(at[i], i)];
      to += count;
    });
  });
  return result;
}

Tensor gather_elements_vjp(const Tensor& gradient, const Dims& shape, std::int64_t axis, const Tensor& index,
                           const EvaluationContext& context) {
  if (is_complex(gradient.dtype())) {
    return part_by_part(gradient, [&](const Tensor& g) { return gather_elements_vjp(g, shape, axis, index, context); });
  }
  const DType wide = wide_dtype(gradient.dtype());
  const Tensor source = gradient.to(wide).contiguous();
  const Tensor values = index_values(index);
  // Every index may be the same.
  if (values.numel() > 0 && values.rank() > 0) context.note_sums(values.size(axis), source.numel() / values.size(axis));
  Tensor result = Tensor::zeros(wide, shape);
  const auto add = [&](auto zero) {
    using T = decltype(zero);
    const T* from = source.data<T>();
    T* to = result.mutable_data<T>();
    for_each_gathered_row(shape, axis, values, [&](const std::int64_t* at, std::int64_t count, const auto& steps) {
      for (std::int64_t i = 0; i < count; ++i) {
        T& sum = to[steps.position(at[i], i)];
        sum = add_step(sum, from[i], context.arithmetic.summation.accumulator);
      }
      from += count;
    });
  };
  if (wide == DType::float64) {
    add(double{});
  } else {
    add(float{});
  }
  return result.to(gradient.dtype());
}

Selection slices_selection(const Dims& shape, std::int64_t axis, const Tensor& index, bool wraps) {
  const Tensor values = index_values(index);
  if (values.rank() > 1) throw SkipError("The index must be a vector or a 0-d tensor.");
  const auto along = static_cast<std::size_t>(normalize_axis(axis, static_cast<std::int64_t>(shape.size())));
  const Dims sizes = shape.empty() ? Dims{1} : shape;
  const std::int64_t count = values.numel();
  Selection selection;
  selection.shape = shape;
  if (!shape.empty()) selection.shape[along] = count;
  for (std::size_t i = along + 1; i < sizes.size(); ++i) selection.run *= sizes[i];
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < along; ++i) outer *= sizes[i];
  std::vector<std::int64_t> checked(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    checked[static_cast<std::size_t>(i)] = checked_index(values.data<std::int64_t>()[i], sizes[along], wraps);
  }
  if (shape.empty() && count != 1) throw SkipError("A 0-d tensor takes an index of one element.");
  if (selection.run == 0) return selection;
  reserve_starts(selection, outer * count);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t at : checked) selection.starts.push_back((o * sizes[along] + at) * selection.run);
  }
  return selection;
}

Selection view_selection(const Tensor& source, const Tensor& view) {
  Selection selection;
  selection.shape = view.shape();
  if (view.numel() == 0) return selection;
  Dims shape = view.shape();
  Dims strides = view.strides();
  selection.run = split_run(shape, strides);
  const std::int64_t base = offset_in(source, view);
  reserve_starts(selection, element_count(shape));
  for_each_offset(shape, strides, [&](std::int64_t offset) { selection.starts.push_back(base + offset); });
  return selection;
}

Selection advanced_selection(const Tensor& source, const Tensor& view, std::span<const Tensor> given) {
  const std::vector<Tensor> indices = without_masks(view, given);
  if (indices.size() > view.shape().size()) {
    throw SkipError("Too many indices for a tensor of dimension " + std::to_string(view.rank()) + ".");
  }
  Dims index_shape;
  std::size_t first = indices.size();
  std::size_t last = 0;
  std::size_t used = 0;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    if (!indices[axis].defined()) continue;
    index_shape = broadcast_shapes(index_shape, indices[axis].shape());
    first = std::min(first, axis);
    last = axis;
    ++used;
  }
  if (used == 0) return view_selection(source, view);
  const std::int64_t selected = element_count(index_shape);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(selected));
  for (std::size_t axis = first; axis <= last; ++axis) {
    if (!indices[axis].defined()) continue;
    const Tensor values = index_values(indices[axis]).expand(index_shape).contiguous();
    for (std::int64_t i = 0; i < selected; ++i) {
      offsets[static_cast<std::size_t>(i)] +=
          checked_index(values.data<std::int64_t>()[i], view.shape()[axis], true) * view.strides()[axis];
    }
  }
  // The other axes before and after the broadcast ones.
  const bool neighbours = last - first + 1 == used;
  Dims before_shape;
  Dims before_strides;
  Dims after_shape;
  Dims after_strides;
  for (std::size_t axis = 0; axis < view.shape().size(); ++axis) {
    if (axis < indices.size() && indices[axis].defined()) continue;
    const bool before = neighbours && axis < first;
    (before ? before_shape : after_shape).push_back(view.shape()[axis]);
    (before ? before_strides : after_strides).push_back(view.strides()[axis]);
  }
  Selection selection;
  selection.shape = before_shape;
  for (const std::int64_t size : index_shape) selection.shape.push_back(size);
  for (const std::int64_t size : after_shape) selection.shape.push_back(size);
  const std::int64_t total = element_count(selection.shape);
  if (total == 0) return selection;
  selection.run = split_run(after_shape, after_strides);
  reserve_starts(selection, total / selection.run);
  const std::int64_t base = offset_in(source, view);
  for_each_offset(before_shape, before_strides, [&](std::int64_t before) {
    for (const std::int64_t offset : offsets) {
      for_each_offset(after_shape, after_strides,
                      [&](std::int64_t after) { selection.starts.push_back(base + before + offset + after); });
    }
  });
  return selection;
}

std::vector<std::int64_t> nonzero_positions(const Tensor& tensor) {
  const Tensor mask = is_complex(tensor.dtype()) || tensor.dtype() == DType::boolean
                          ? tensor.to(DType::boolean).contiguous()
                          : map_as(compute_of(tensor.dtype()), DType::boolean, tensor, [](auto x) { return x != 0; });
  const auto* flags = mask.data<std::uint8_t>();
  std::vector<std::int64_t> positions;
  positions.reserve(
      static_cast<std::size_t>(std::count_if(flags, flags + mask.numel(), [](auto f) { return f != 0; })));
  for (std::int64_t i = 0; i < mask.numel(); ++i) {
    if (flags[i] != 0) positions.push_back(i);
  }
  return positions;
}

Tensor take(const Tensor& x, const Selection& selection) {
  const Tensor source = x.contiguous();
  Tensor result(x.dtype(), selection.shape);
  visit_size(x.dtype(), [&](auto element) {
    using T = decltype(element);
    const T* from = source.data<T>();
    T* to = result.mutable_data<T>();
    if (selection.run == 1) {
      for (const std::int64_t start : selection.starts) *to++ = from[start];
      return;
    }
    for (const std::int64_t start : selection.starts) to = std::copy_n(from + start, selection.run, to);
  });
  return result;
}

Tensor put(const Tensor& x, const Selection& selection, const Tensor& values) {
  const Tensor source = values.to(x.dtype()).expand(selection.shape).contiguous();
  Tensor result = x.clone();
  visit_size(x.dtype(), [&](auto element) {
    using T = decltype(element);
    const T* from = source.data<T>();
    T* to = result.mutable_data<T>();
    for (const std::int64_t start : selection.starts) {
      std::copy_n(from, selection.run, to + start);
      from += selection.run;
    }
  });
  return result;
}

Tensor put_sum(const Tensor& x, const Selection& selection, const Tensor& values, double alpha,
               const EvaluationContext& context) {
  if (is_complex(x.dtype())) {
    const Tensor added = values.to(x.dtype());
    return complex_of(put_sum(real_part(x), selection, real_part(added), alpha, context),
                      put_sum(imaginary_part(x), selection, imaginary_part(added), alpha, context));
  }
  const DType wide = context.dtype_of_sums(wide_dtype(x.dtype()));
  const Tensor source = values.to(wide).expand(selection.shape).contiguous();
  Tensor result = x.dtype() == wide ? x.clone() : x.to(wide).contiguous();
  note_sums_of(context, selection, x.numel());
  const auto add = [&](auto one) {
    using T = decltype(one);
    add_runs<T>(selection, source.data<T>(), number_as<T>(alpha), context.arithmetic.summation.accumulator,
                result.mutable_data<T>());
  };
  switch (wide) {
    case DType::float32:
      add(float{});
      break;
    case DType::float64:
      add(double{});
      break;
    default:
      add(std::int64_t{});
      break;
  }
  return result.to(x.dtype());
}

namespace {

template <class T>
void add_all(const Selection& selection, const Tensor& values, const Arithmetic& arithmetic, Tensor& to) {
  add_runs<T>(selection, values.data<T>(), T{1}, arithmetic.summation.accumulator, to.mutable_data<T>());
}

void add_all(const Selection& selection, const Tensor& values, const Arithmetic& arithmetic, Tensor& to) {
  if (to.dtype() == DType::float64) {
    add_all<double>(selection, values, arithmetic, to);
  } else if (to.dtype() == DType::float32) {
    add_all<float>(selection, values, arithmetic, to);
  } else {
    add_all<std::int64_t>(selection, values, arithmetic, to);
  }
}

// Whether the runs are rows of a matrix, long ones and few of all: then only those that are used need sums in a wider
// dtype than the result's.
bool are_few_rows(const Selection& selection, std::int64_t elements) {
  constexpr std::int64_t long_run = 16;
  if (selection.run < long_run || std::ssize(selection.starts) * selection.run > elements / 2) return false;
  return std::ranges::all_of(selection.starts, [&](std::int64_t start) { return start % selection.run == 0; });
}

}  // namespace

Tensor take_vjp(const Tensor& gradient, const Dims& shape, const Selection& selection, const EvaluationContext& context,
                std::optional<DType> stored) {
  const DType dtype = stored.value_or(gradient.dtype());
  if (is_complex(gradient.dtype()))
    return put_sum(Tensor::zeros(gradient.dtype(), shape), selection, gradient, 1, context).to(dtype);
  const DType wide = context.dtype_of_sums(wide_dtype(gradient.dtype()));
  const Tensor source = gradient.to(wide).expand(selection.shape).contiguous();
  note_sums_of(context, selection, element_count(shape));
  if (wide == dtype || !are_few_rows(selection, element_count(shape))) {
    Tensor sums = Tensor::zeros(wide, shape);
    add_all(selection, source, context.arithmetic, sums);
    return sums.to(dtype);
  }
  std::vector<std::int64_t> used = selection.starts;
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  Selection among_used;
  among_used.run = selection.run;
  reserve_starts(among_used, std::ssize(selection.starts));
  for (const std::int64_t start : selection.starts)
    among_used.starts.push_back((std::ranges::lower_bound(used, start) - used.begin()) * selection.run);
  Tensor sums = Tensor::zeros(wide, Dims{std::ssize(used), selection.run});
  add_all(among_used, source, context.arithmetic, sums);
  const Tensor rounded = sums.to(dtype);
  Tensor result = Tensor::zeros(dtype, shape);
  const std::size_t size = size_of(dtype);
  const std::size_t row = static_cast<std::size_t>(selection.run) * size;
  for (std::size_t i = 0; i < used.size(); ++i) {
    std::memcpy(result.mutable_data<std::byte>() + static_cast<std::size_t>(used[i]) * size, rounded.raw() + i * row,
                row);
  }
  return result;
}

Tensor put_vjp(const Tensor& gradient, const Selection& selection) {
  return put(gradient, selection, Tensor::scalar(gradient.dtype(), 0));
}

}  // namespace msrun
