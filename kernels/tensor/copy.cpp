#include "kernels/tensor/copy.h"

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <cstring>
#include <utility>

namespace msrun {
namespace {

// The axes of a view without those of size 1, with neighbours merged where the strides allow it.
struct Axes {
  Dims shape;
  Dims strides;
};

Axes merged_axes(const Tensor& tensor) {
  Axes axes;
  for (std::size_t axis = 0; axis < tensor.shape().size(); ++axis) {
    const std::int64_t size = tensor.shape()[axis];
    const std::int64_t stride = tensor.strides()[axis];
    if (size == 1) continue;
    if (!axes.shape.empty() && axes.strides.back() == stride * size) {
      axes.shape.back() *= size;
      axes.strides.back() = stride;
    } else {
      axes.shape.push_back(size);
      axes.strides.push_back(stride);
    }
  }
  if (axes.shape.empty()) {
    axes.shape.push_back(1);
    axes.strides.push_back(1);
  }
  return axes;
}

// Calls body(source offset, target offset) for every position along the given axes.
template <class Body>
void for_each_position(const Dims& shape, const Dims& from_strides, const Dims& to_strides, const Body& body) {
  Dims index(shape.size());
  std::int64_t from = 0;
  std::int64_t to = 0;
  while (true) {
    body(from, to);
    std::size_t axis = shape.size();
    while (axis-- > 0) {
      from += from_strides[axis];
      to += to_strides[axis];
      if (++index[axis] < shape[axis]) break;
      from -= from_strides[axis] * shape[axis];
      to -= to_strides[axis] * shape[axis];
      index[axis] = 0;
    }
    if (axis == static_cast<std::size_t>(-1)) return;
  }
}

template <class T>
void copy_run(const T* from, std::int64_t stride, std::int64_t count, T* to) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
  } else if (stride == 0) {
    std::fill_n(to, count, *from);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  }
}

// Sixteen bytes, which every processor can hold in one register, and their two interleavings.
template <class T>
struct Lanes {
  static constexpr int count = 16 / static_cast<int>(sizeof(T));
  using Vector __attribute__((vector_size(16))) = T;

  template <int... I>
  static Vector interleave(Vector a, Vector b, int half, std::integer_sequence<int, I...> /*lanes*/) {
    if (half == 0) return __builtin_shufflevector(a, b, (I / 2 + I % 2 * count)...);
    return __builtin_shufflevector(a, b, (count / 2 + I / 2 + I % 2 * count)...);
  }
};

// A square block of as many elements as a register has lanes: from[r * from_stride + c] to to[c * to_stride + r].
// Interleaving the upper with the lower half of the rows, once for every bit of their number, exchanges the axes.
template <class T>
void transpose_block(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride) {
  using L = Lanes<T>;
  constexpr int n = L::count;
  constexpr auto all = std::make_integer_sequence<int, n>{};
  std::array<typename L::Vector, static_cast<std::size_t>(n)> rows;
  for (int r = 0; r < n; ++r) std::memcpy(&rows[static_cast<std::size_t>(r)], from + r * from_stride, 16);
#pragma GCC unroll 4
  for (int width = 1; width < n; width *= 2) {
    auto before = rows;
#pragma GCC unroll 16
    for (std::size_t i = 0; i < static_cast<std::size_t>(n) / 2; ++i) {
      rows[2 * i] = L::interleave(before[i], before[i + n / 2], 0, all);
      rows[2 * i + 1] = L::interleave(before[i], before[i + n / 2], 1, all);
    }
  }
  for (int r = 0; r < n; ++r) std::memcpy(to + r * to_stride, &rows[static_cast<std::size_t>(r)], 16);
}

// to[c * to_stride + r] = from[r * from_row + c * from_column] for all rows and columns. Goes by tiles that are
// gathered in a buffer, so that memory is touched in whole cache lines on both sides, even where the strides are powers
// of two.
template <class T>
void copy_transposed(const T* from, std::int64_t from_row, std::int64_t from_column, std::int64_t rows,
                     std::int64_t columns, T* to, std::int64_t to_stride) {
  constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T));
  constexpr std::int64_t tile_rows = 16 * line;
  alignas(64) std::array<T, static_cast<std::size_t>(line * tile_rows)> tile;
  for (std::int64_t row = 0; row < rows; row += tile_rows) {
    const std::int64_t height = std::min(tile_rows, rows - row);
    for (std::int64_t column = 0; column < columns; column += line) {
      const std::int64_t width = std::min(line, columns - column);
      const T* corner = from + row * from_row + column * from_column;
      std::int64_t done = 0;
      if constexpr (sizeof(T) <= 8) {
        constexpr std::int64_t lanes = Lanes<T>::count;
        if (from_column == 1 && width == line) {
          for (; done + lanes <= height; done += lanes) {
            // The processor does not foresee jumps from row to row. Past the end of a row a prefetch does no harm.
            for (std::int64_t r = done; r < done + lanes; ++r) __builtin_prefetch(corner + r * from_row + 2 * line);
            for (std::int64_t c = 0; c < line; c += lanes) {
              transpose_block(corner + done * from_row + c, from_row, tile.data() + c * tile_rows + done, tile_rows);
            }
          }
        }
      }
      for (; done < height; ++done) {
        for (std::int64_t c = 0; c < width; ++c) {
          tile[static_cast<std::size_t>(c * tile_rows + done)] = corner[done * from_row + c * from_column];
        }
      }
      for (std::int64_t c = 0; c < width; ++c) {
        T* target = to + (column + c) * to_stride + row;
        const T* source = tile.data() + c * tile_rows;
        if (height == tile_rows) {
          std::memcpy(target, source, sizeof(T) * tile_rows);
        } else {
          std::copy_n(source, height, target);
        }
      }
    }
  }
}

template <class T>
void copy_as(const Tensor& tensor, std::byte* target) {
  const T* from = tensor.data<T>();
  T* to = reinterpret_cast<T*>(target);
  Axes axes = merged_axes(tensor);
  Dims to_strides = row_major_strides(axes.shape);
  const std::size_t last = axes.shape.size() - 1;
  const std::int64_t inner_stride = axes.strides[last];
  const std::int64_t inner = axes.shape[last];
  // The axis along which the source lies densest.
  std::size_t dense = last;
  for (std::size_t axis = 0; axis < last; ++axis) {
    const std::int64_t stride = axes.strides[axis];
    if (stride != 0 && stride < axes.strides[dense]) dense = axis;
  }
  const auto remove = [&](std::size_t axis) {
    const auto at = static_cast<std::ptrdiff_t>(axis);
    axes.shape.erase(axes.shape.begin() + at);
    axes.strides.erase(axes.strides.begin() + at);
    to_strides.erase(to_strides.begin() + at);
  };
  remove(last);
  if (dense == last || inner_stride == 0) {
    for_each_position(axes.shape, axes.strides, to_strides, [&](std::int64_t source, std::int64_t position) {
      copy_run(from + source, inner_stride, inner, to + position);
    });
    return;
  }
  const std::int64_t columns = axes.shape[dense];
  const std::int64_t from_column = axes.strides[dense];
  const std::int64_t to_column = to_strides[dense];
  remove(dense);
  for_each_position(axes.shape, axes.strides, to_strides, [&](std::int64_t source, std::int64_t position) {
    copy_transposed(from + source, inner_stride, from_column, inner, columns, to + position, to_column);
  });
}

}  // namespace

void copy_row_major(const Tensor& source, std::byte* target) {
  if (source.numel() == 0) return;
  switch (size_of(source.dtype())) {
    case 1:
      return copy_as<std::uint8_t>(source, target);
    case 2:
      return copy_as<std::uint16_t>(source, target);
    case 4:
      return copy_as<std::uint32_t>(source, target);
    case 8:
      return copy_as<std::uint64_t>(source, target);
    default:
      return copy_as<std::complex<double>>(source, target);
  }
}

}  // namespace msrun
