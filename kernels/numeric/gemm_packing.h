// How operands of matrix products are laid out for the tiles (tiles.h), converted on the way where they are stored in a
// narrower dtype than is computed in. Included by gemm.cpp only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/numeric/gemm.h"
#include "kernels/numeric/tiles.h"
#include "kernels/tensor/convert.h"
#include "kernels/tensor/dtype.h"

namespace msrun::packing {

using namespace tiles;

// Columns of b that are laid out side by side.
template <class T>
constexpr std::int64_t panel_width{widest * lanes<T>};

// A matrix whose elements are converted to T, float or double, when they are packed.
template <class T>
struct Operand {
  // NOLINTNEXTLINE(google-explicit-constructor): every view is an operand.
  Operand(const MatrixView<T>& view)
      : data(view.data),
        rows(view.rows),
        columns(view.columns),
        row_stride(view.row_stride),
        column_stride(view.column_stride) {}
  explicit Operand(const StoredMatrix& matrix)
      : data(matrix.data),
        dtype(matrix.dtype),
        rows(matrix.rows),
        columns(matrix.columns),
        row_stride(matrix.row_stride),
        column_stride(matrix.column_stride) {}

  // Calls f with the elements as they are stored.
  template <class F>
  void visit(F&& f) const {
    if constexpr (std::is_same_v<T, float>) {
      if (dtype == DType::bfloat16) return f(view<BFloat16>());
      if (dtype == DType::float16) return f(view<Half>());
    } else {
      if (dtype == DType::float32) return f(view<float>());
    }
    f(view<T>());
  }

  Operand part(std::int64_t first_row, std::int64_t row_count, std::int64_t first_column,
               std::int64_t column_count) const {
    Operand result = *this;
    visit([&](const auto& whole) { result.data = whole.data + first_row * row_stride + first_column * column_stride; });
    result.rows = row_count;
    result.columns = column_count;
    return result;
  }

  Operand transposed() const {
    Operand result = *this;
    std::swap(result.rows, result.columns);
    std::swap(result.row_stride, result.column_stride);
    return result;
  }

  const void* data;
  DType dtype = own_dtype<T>;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;
  std::int64_t column_stride;

 private:
  template <class S>
  MatrixView<S> view() const {
    return {static_cast<const S*>(data), rows, columns, row_stride, column_stride};
  }
};

template <class T>
using Square = std::array<Vector<T>, static_cast<std::size_t>(lanes<T>)>;

// The lanes of two vectors whose number lacks the bit `distance`, or has it (`upper`), those of b behind those of a.
template <int distance, bool upper, class T, int... lane>
[[gnu::always_inline]] inline Vector<T> interleaved(Vector<T> a, Vector<T> b, std::integer_sequence<int, lane...>) {
  constexpr int count = sizeof...(lane);
  constexpr int moved = upper ? distance : 0;
  return __builtin_shufflevector(a, b, ((lane & distance) == 0 ? lane + moved : lane - distance + moved + count)...);
}

// Lane l of vector i becomes lane i of vector l: squares of `distance` beside the diagonal are exchanged, larger and
// larger ones.
template <class T, int distance = 1>
[[gnu::always_inline]] inline void transpose(Square<T>& square) {
  constexpr int count = static_cast<int>(lanes<T>);
  if constexpr (distance < count) {
    constexpr auto all = std::make_integer_sequence<int, count>();
    constexpr std::size_t apart = distance;
    for (std::size_t i = 0; i < count; ++i) {
      if ((i & apart) != 0) continue;
      Vector<T>& a = square[i];
      Vector<T>& b = square[i + apart];
      const Vector<T> before = a;
      a = interleaved<distance, false, T>(before, b, all);
      b = interleaved<distance, true, T>(before, b, all);
    }
    transpose<T, 2 * distance>(square);
  }
}

// `terms` elements of each of `filled` lines, which are `stride` apart, into a panel [terms, panel_width].
template <class T, class S>
void pack_lines(const S* lines, std::int64_t stride, std::int64_t filled, std::int64_t terms, T* to) {
  constexpr std::int64_t width = panel_width<T>;
  constexpr std::int64_t count = lanes<T>;
  // A line of memory of every line, so that it is finished while it is near.
  constexpr std::int64_t step = std::max<std::int64_t>(count, 64 / static_cast<std::int64_t>(sizeof(S)));
  const std::int64_t whole_terms = terms / step * step;
  const std::int64_t whole_lines = filled / count * count;
  for (std::int64_t start = 0; start < whole_terms; start += step) {
    for (std::int64_t first = 0; first < whole_lines; first += count) {
      const S* const from = lines + first * stride + start;
      for (std::int64_t j = 0; j < count; ++j) __builtin_prefetch(from + j * stride + step);
      for (std::int64_t k = 0; k < step; k += count) {
        Square<T> square;
        for (std::int64_t j = 0; j < count; ++j)
          square[static_cast<std::size_t>(j)] = load_converted<T>(from + j * stride + k);
        transpose<T>(square);
        for (std::int64_t i = 0; i < count; ++i)
          store(to + (start + k + i) * width + first, square[static_cast<std::size_t>(i)]);
      }
    }
  }
  for (std::int64_t j = 0; j < filled; ++j) {
    const S* line = lines + j * stride;
    for (std::int64_t k = j < whole_lines ? whole_terms : 0; k < terms; ++k) to[k * width + j] = converted<T>(line[k]);
  }
}

// Columns [first, first + count) and rows [from, from + terms) of b as panels [terms, panel_width], the last one filled
// up with zeros.
template <class T, class S>
void pack_columns(const MatrixView<S>& b, std::int64_t first, std::int64_t count, std::int64_t from, std::int64_t terms,
                  T* to) {
  constexpr std::int64_t width = panel_width<T>;
  const S* const source = b.data + from * b.row_stride + first * b.column_stride;
  if (b.column_stride == 1) {
    const std::int64_t whole = count / width * width;
    for (std::int64_t k = 0; k < terms; ++k) {
      const S* row = source + k * b.row_stride;
      for (std::int64_t column = 0; column < whole; column += width) {
        T* target = to + column * terms + k * width;
        for (std::int64_t v = 0; v < width; v += lanes<T>) store(target + v, load_converted<T>(row + column + v));
      }
      if (whole == count) continue;
      T* target = to + whole * terms + k * width;
      for (std::int64_t j = whole; j < count; ++j) target[j - whole] = converted<T>(row[j]);
      std::fill(target + count - whole, target + width, T{});
    }
    return;
  }
  for (std::int64_t column = 0; column < count; column += width, to += terms * width) {
    const std::int64_t filled = std::min(width, count - column);
    const S* const lines = source + column * b.column_stride;
    if (b.row_stride == 1) {
      pack_lines(lines, b.column_stride, filled, terms, to);
    } else {
      for (std::int64_t j = 0; j < filled; ++j) {
        const S* line = lines + j * b.column_stride;
        for (std::int64_t k = 0; k < terms; ++k) to[k * width + j] = converted<T>(line[k * b.row_stride]);
      }
    }
    for (std::int64_t k = 0; filled < width && k < terms; ++k)
      std::fill(to + k * width + filled, to + (k + 1) * width, T{});
  }
}

// Rows [first, first + count) of a as the tiles of for_each_row_tile.
template <class T, class S>
void pack_row_tiles(const MatrixView<S>& a, std::int64_t first, std::int64_t count, std::int64_t from,
                    std::int64_t terms, T* to) {
  for_each_row_tile(count, [&](std::int64_t row, std::int64_t height) {
    const S* source = a.data + (first + row) * a.row_stride + from * a.column_stride;
    with_height(height, [&]<int R>(std::integral_constant<int, R>) {
      if (a.row_stride == 1) {
        for (std::int64_t k = 0; k < terms; ++k) {
          const S* const column = source + k * a.column_stride;
          for (int r = 0; r < R; ++r) to[k * R + r] = converted<T>(column[r]);
        }
        return;
      }
      std::array<const S*, R> lines;
      for (int r = 0; r < R; ++r) lines[r] = source + r * a.row_stride;
      for (std::int64_t k = 0; k < terms; ++k) {
        for (int r = 0; r < R; ++r) to[k * R + r] = converted<T>(lines[r][k * a.column_stride]);
      }
    });
    to += height * terms;
  });
}

}  // namespace msrun::packing
