#include "kernels/numeric/layout.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "kernels/base/error.h"
#include "kernels/numeric/reduction_view.h"
#include "kernels/tensor/complex.h"
#include "kernels/tensor/elementwise_map.h"

namespace msrun {
namespace {

// Sizes before and after an axis.
struct AxisSplit {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
};

AxisSplit split_at(const Dims& shape, std::size_t axis) {
  AxisSplit split;
  for (std::size_t i = 0; i < axis; ++i) split.outer *= shape[i];
  split.extent = shape[axis];
  for (std::size_t i = axis + 1; i < shape.size(); ++i) split.inner *= shape[i];
  return split;
}

template <class T>
void add_strided(const Tensor& values, const Dims& strides, T* target) {
  const Dims& shape = values.shape();
  const T* from = values.data<T>();
  const std::size_t outer_axes = shape.empty() ? 0 : shape.size() - 1;
  const std::int64_t row = shape.empty() ? 1 : shape.back();
  const std::int64_t stride = shape.empty() ? 1 : strides.back();
  Dims index(outer_axes);
  std::int64_t offset = 0;
  for (std::int64_t position = 0; position < values.numel(); position += row) {
    for (std::int64_t i = 0; i < row; ++i) {
      T& sum = target[offset + i * stride];
      sum = wrapping_add(sum, from[position + i]);
    }
    for (std::size_t axis = outer_axes; axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

Tensor embed(const Dims& shape, const Dims& strides, std::int64_t offset, const Tensor& values) {
  if (is_complex(values.dtype())) {
    return part_by_part(values, [&](const Tensor& part) { return embed(shape, strides, offset, part); });
  }
  const DType compute = wide_dtype(values.dtype());
  Tensor result = Tensor::zeros(compute, shape);
  if (values.numel() == 0) return result.to(values.dtype());
  const Tensor source = values.to(compute).contiguous();
  visit_wide(compute, [&](auto zero) {
    using T = decltype(zero);
    add_strided<T>(source, strides, result.mutable_data<T>() + offset);
  });
  return result.to(values.dtype());
}

Tensor concatenate(DType dtype, const std::vector<Tensor>& parts, std::int64_t axis) {
  Dims shape = parts.at(0).shape();
  const auto at = static_cast<std::size_t>(normalize_axis(axis, parts[0].rank()));
  if (shape.empty()) throw SkipError("Zero-dimensional tensors cannot be concatenated.");
  shape[at] = 0;
  for (const Tensor& part : parts) {
    Dims other = part.shape();
    if (other.size() != shape.size())
      throw SkipError("Tensors must have same number of dimensions to be concatenated.");
    const std::int64_t length = other[at];
    other[at] = shape[at];
    if (other != shape) {
      throw SkipError("Sizes of tensors must match except in dimension " + std::to_string(at) + ", but got " +
                      tuple_text(part.shape()) + " and " + tuple_text(parts[0].shape()) + ".");
    }
    shape[at] += length;
  }
  Tensor result(dtype, shape);
  if (result.numel() == 0) return result;
  const AxisSplit whole = split_at(shape, at);
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t row = whole.extent * whole.inner * size;
  auto* target = result.mutable_data<std::byte>();
  std::int64_t done = 0;
  for (const Tensor& part : parts) {
    const std::int64_t run = part.shape()[at] * whole.inner * size;
    if (run == 0) continue;
    const Tensor source = part.to(dtype).contiguous();
    for (std::int64_t o = 0; o < whole.outer; ++o) {
      std::memcpy(target + o * row + done, source.raw() + o * run, static_cast<std::size_t>(run));
    }
    done += run;
  }
  return result;
}

Tensor flip(const Tensor& x, const Dims& axes) {
  Dims strides = x.strides();
  Dims seen(strides.size());
  std::int64_t offset = 0;
  for (const std::int64_t axis : axes) {
    const auto at = static_cast<std::size_t>(normalize_axis(axis, x.rank()));
    if (strides.empty()) continue;
    if (seen[at]++ != 0) throw SkipError("flip: a dimension appears twice in the list of dims.");
    if (x.numel() > 0) offset += (x.shape()[at] - 1) * strides[at];
    strides[at] = -strides[at];
  }
  if (x.numel() == 0) return x;
  // A copy, because other code may rely on strides that are not negative.
  return x.with_strides(x.shape(), strides, offset).clone();
}

Tensor roll(const Tensor& x, std::int64_t shift, std::int64_t axis) {
  const std::int64_t extent = x.size(axis);
  if (extent == 0 || x.rank() == 0) return x;
  const std::int64_t by = (shift % extent + extent) % extent;
  if (by == 0) return x;
  return concatenate(x.dtype(), {x.slice(axis, extent - by, by), x.slice(axis, 0, extent - by)}, axis);
}

Placement diagonal_placement(const Dims& shape, const Dims& strides, std::int64_t offset, std::int64_t axis1,
                             std::int64_t axis2) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (rank < 2) throw SkipError("diagonal needs a tensor of at least two dimensions.");
  const auto row = static_cast<std::size_t>(normalize_axis(axis1, rank));
  const auto column = static_cast<std::size_t>(normalize_axis(axis2, rank));
  if (row == column) throw SkipError("diagonal dimensions cannot be identical.");
  const bool inside = offset > -shape[row] && offset < shape[column];
  const std::int64_t first_row = inside ? std::max<std::int64_t>(0, -offset) : 0;
  const std::int64_t first_column = inside ? std::max<std::int64_t>(0, offset) : 0;
  Placement place;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis == row || axis == column) continue;
    place.shape.push_back(shape[axis]);
    place.strides.push_back(strides[axis]);
  }
  place.shape.push_back(inside ? std::min(shape[row] - first_row, shape[column] - first_column) : 0);
  place.strides.push_back(strides[row] + strides[column]);
  place.offset = first_row * strides[row] + first_column * strides[column];
  return place;
}

Tensor diag_embed(const Tensor& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  if (x.rank() < 1) throw SkipError("Embedding a diagonal needs a tensor of at least one dimension.");
  const std::int64_t rank = x.rank() + 1;
  const std::int64_t row = normalize_axis(axis1, rank);
  const std::int64_t column = normalize_axis(axis2, rank);
  if (row == column) throw SkipError("diagonal dimensions cannot be identical.");
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  if (offset <= -limit || offset >= limit) throw SkipError("The offset of a diagonal is too large.");
  const std::int64_t side = x.shape().back() + std::max(offset, -offset);
  Dims shape = x.shape();
  shape.back() = side;
  shape.push_back(side);
  element_count(shape);
  Dims strides = row_major_strides(shape);
  const std::int64_t start = offset >= 0 ? offset : -offset * side;
  strides.pop_back();
  strides.back() = side + 1;
  const Tensor matrices = embed(shape, strides, start, x);
  Dims order;
  std::int64_t batch = 0;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    order.push_back(axis == row ? rank - 2 : axis == column ? rank - 1 : batch++);
  }
  return matrices.permute(order);
}

Tensor triangle(const Tensor& x, std::int64_t diagonal, bool lower) {
  if (x.rank() < 2) throw SkipError("A triangle needs a tensor of at least two dimensions.");
  const std::int64_t rows = x.size(-2);
  const std::int64_t columns = x.size(-1);
  Tensor result = Tensor::zeros(x.dtype(), x.shape());
  if (x.numel() == 0) return result;
  const Tensor source = x.contiguous();
  const auto size = static_cast<std::int64_t>(size_of(x.dtype()));
  auto* target = result.mutable_data<std::byte>();
  diagonal = std::clamp(diagonal, -rows, columns);
  for (std::int64_t line = 0; line < x.numel() / columns; ++line) {
    // Columns up to and including the diagonal belong to the lower triangle, from it on to the upper one.
    const std::int64_t border = line % rows + diagonal + (lower ? 1 : 0);
    const std::int64_t cut = std::clamp<std::int64_t>(border, 0, columns);
    const std::int64_t first = lower ? 0 : cut;
    const std::int64_t last = lower ? cut : columns;
    const std::int64_t start = (line * columns + first) * size;
    std::memcpy(target + start, source.raw() + start, static_cast<std::size_t>((last - first) * size));
  }
  return result;
}

Tensor repeat_elements(const Tensor& x, std::int64_t axis, const std::vector<std::int64_t>& counts) {
  const auto at = static_cast<std::size_t>(normalize_axis(axis, x.rank()));
  Dims shape = x.shape();
  std::int64_t total = 0;
  for (const std::int64_t count : counts) {
    if (count < 0 || __builtin_add_overflow(total, count, &total)) throw SkipError("repeats must be non-negative.");
  }
  if (x.rank() == 0 || static_cast<std::int64_t>(counts.size()) != shape[at]) {
    throw SkipError("repeats must have the same size as input along dim.");
  }
  const AxisSplit split = split_at(shape, at);
  shape[at] = total;
  Tensor result(x.dtype(), shape);
  if (result.numel() == 0) return result;
  const Tensor source = x.contiguous();
  const std::int64_t run = split.inner * static_cast<std::int64_t>(size_of(x.dtype()));
  auto* target = result.mutable_data<std::byte>();
  for (std::int64_t o = 0; o < split.outer; ++o) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::byte* from = source.raw() + (o * split.extent + static_cast<std::int64_t>(i)) * run;
      for (std::int64_t copy = 0; copy < counts[i]; ++copy, target += run) {
        std::memcpy(target, from, static_cast<std::size_t>(run));
      }
    }
  }
  return result;
}

Tensor sum_runs(const Tensor& x, std::int64_t axis, const std::vector<std::int64_t>& counts) {
  if (is_complex(x.dtype())) {
    return part_by_part(x, [&](const Tensor& part) { return sum_runs(part, axis, counts); });
  }
  const auto at = static_cast<std::size_t>(normalize_axis(axis, x.rank()));
  const AxisSplit split = split_at(x.shape(), at);
  Dims shape = x.shape();
  shape[at] = static_cast<std::int64_t>(counts.size());
  const DType compute = wide_dtype(x.dtype());
  Tensor result = Tensor::zeros(compute, shape);
  if (x.numel() == 0) return result.to(x.dtype());
  const Tensor source = x.to(compute).contiguous();
  visit_wide(compute, [&](auto zero) {
    using T = decltype(zero);
    const T* from = source.data<T>();
    T* target = result.mutable_data<T>();
    for (std::int64_t o = 0; o < split.outer; ++o) {
      for (const std::int64_t count : counts) {
        for (std::int64_t copy = 0; copy < count; ++copy, from += split.inner) {
          for (std::int64_t i = 0; i < split.inner; ++i) target[i] = wrapping_add(target[i], from[i]);
        }
        target += split.inner;
      }
    }
  });
  return result.to(x.dtype());
}

}  // namespace msrun
