// The innermost loops of matrix products and convolutions: small tiles of results that are summed up in registers.
// Written with the compiler's vector types; the width is that of the level the library is built for.
//
// The sum for one element is formed in the order of its terms, term by term in multiply_tile, lane by lane in
// add_dot_products, whatever tile the element lies in. Included by kernel files only.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/tensor/dtype.h"
#include "kernels/tensor/vector_bytes.h"

namespace msrun::tiles {

// Rows of the tallest tile, and vectors of the widest one of full height; rows and columns of the tile of dot products.
// The sums of a tile stay in registers, with the vectors and weights of one term beside them
// (tests/structure/tile_loops.py): of 32 registers aarch64, which has no operands in memory, needs more for those.
#if defined(__AVX512F__)
inline constexpr int tallest = 8;
inline constexpr int widest = 3;
inline constexpr int dot_rows = 4;
inline constexpr int dot_columns = 6;
#elif defined(__AVX__)
inline constexpr int tallest = 4;
inline constexpr int widest = 3;
inline constexpr int dot_rows = 3;
inline constexpr int dot_columns = 4;
#elif defined(__aarch64__)
inline constexpr int tallest = 7;
inline constexpr int widest = 3;
inline constexpr int dot_rows = 4;
inline constexpr int dot_columns = 5;
#else
inline constexpr int tallest = 4;
inline constexpr int widest = 3;
inline constexpr int dot_rows = 2;
inline constexpr int dot_columns = 4;
#endif

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using type = float __attribute__((vector_size(vector_bytes)));
};
template <>
struct VectorOf<double> {
  using type = double __attribute__((vector_size(vector_bytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;

// Elements of a vector.
template <class T>
inline constexpr std::int64_t lanes = vector_bytes / static_cast<std::int64_t>(sizeof(T));

template <class T>
[[gnu::always_inline]] inline Vector<T> load(const T* from) {
  Vector<T> result;
  std::memcpy(&result, from, sizeof result);
  return result;
}

template <class T>
[[gnu::always_inline]] inline void store(T* to, Vector<T> value) {
  std::memcpy(to, &value, sizeof value);
}

// An element as it is stored, in the type that is computed in.
template <class T, class S>
T converted(S value) {
  if constexpr (std::is_same_v<S, T>) {
    return value;
  } else if constexpr (std::is_floating_point_v<S>) {
    return static_cast<T>(value);
  } else {
    return to_float(value);
  }
}

// A vector of T from elements that are stored as S.
template <class T, class S>
[[gnu::always_inline]] inline Vector<T> load_converted(const S* from) {
  if constexpr (std::is_same_v<S, T>) {
    return load(from);
  } else if constexpr (std::is_same_v<S, float>) {
    using Narrow = float __attribute__((vector_size(vector_bytes / 2)));
    Narrow values;
    std::memcpy(&values, from, sizeof values);
    return __builtin_convertvector(values, Vector<T>);
  } else {
    std::array<T, static_cast<std::size_t>(lanes<T>)> values;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = converted<T>(from[i]);
    return load(values.data());
  }
}

template <class T>
inline T sum_of_lanes(Vector<T> v) {
  std::array<T, static_cast<std::size_t>(lanes<T>)> values;
  std::memcpy(values.data(), &v, sizeof v);
  for (std::size_t width = values.size() / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) values[i] += values[i + width];
  }
  return values[0];
}

// a * b + c, rounded once where the processor can. Left to the compiler, it would depend on what is around it.
template <class T>
[[gnu::always_inline]] inline T multiply_add(T a, T b, T c) {
#if defined(__FMA__) || defined(__aarch64__)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

// Tiles of fewer rows are wider, to keep as many sums going.
constexpr int vectors_of(int height) {
  if (tallest == 8) return height <= 2 ? 8 : height <= 4 ? 6 : height <= 6 ? 4 : 3;
  if (tallest == 7) return height <= 2 ? 8 : height == 3 ? 6 : height == 4 ? 5 : height == 5 ? 4 : 3;
  return height == 1 ? 6 : height == 2 ? 4 : 3;
}
inline constexpr int most_vectors = vectors_of(1);

// Calls f(first, height) for tiles of nearly equal height that cover `rows` rows.
template <class F>
void for_each_row_tile(std::int64_t rows, F&& f) {
  const std::int64_t count = (rows + tallest - 1) / tallest;
  for (std::int64_t i = 0, first = 0; i < count; ++i) {
    const std::int64_t height = (rows - first + count - i - 1) / (count - i);
    f(first, height);
    first += height;
  }
}

// Calls f with the height as a compile-time constant.
template <class F>
void with_height(std::int64_t height, F&& f) {
  switch (height) {
    case 1:
      return f(std::integral_constant<int, 1>{});
    case 2:
      return f(std::integral_constant<int, 2>{});
    case 3:
      return f(std::integral_constant<int, 3>{});
    case 4:
      return f(std::integral_constant<int, 4>{});
    default:
      break;
  }
  if constexpr (tallest > 4) {
    switch (height) {
      case 5:
        return f(std::integral_constant<int, 5>{});
      case 6:
        return f(std::integral_constant<int, 6>{});
      case 7:
        return f(std::integral_constant<int, 7>{});
      default:
        return f(std::integral_constant<int, tallest>{});
    }
  }
}

// Writes one row per line of rows of a matrix [rows, terms] as multiply_tile reads them: [terms, height].
// element(row, term) gives an element.
template <class T, class F>
void pack_rows(std::int64_t first, std::int64_t height, std::int64_t from, std::int64_t terms, T* to, F&& element) {
  for (std::int64_t k = from; k < from + terms; ++k) {
    for (std::int64_t r = first; r < first + height; ++r) *to++ = element(r, k);
  }
}

// result[r * pitch + p] = sum over k < terms of weights[k * R + r] * input[offset(k) + p], for R rows and V vectors of
// positions p; with `add` the sum is added to what is there. `ahead` terms before they are read, vectors are fetched
// from the second-level cache; 0 leaves that to the processor. Where it is not, offset(k) must exist up to k = terms +
// ahead.
template <int R, int V, int ahead = 0, class T, class Offset>
void multiply_tile(const T* input, const Offset& offset, const T* weights, std::int64_t terms, T* result,
                   std::int64_t pitch, bool add) {
  Vector<T> sums[R][V] = {};
  for (std::int64_t k = 0; k < terms; ++k) {
    const T* from = input + offset(k);
    if constexpr (ahead > 0) {
      for (int v = 0; v < V; ++v) __builtin_prefetch(input + offset(k + ahead) + v * lanes<T>);
    }
    Vector<T> values[V];
    for (int v = 0; v < V; ++v) values[v] = load(from + v * lanes<T>);
    for (int r = 0; r < R; ++r) {
      const T weight = weights[k * R + r];
      for (int v = 0; v < V; ++v) sums[r][v] += weight * values[v];
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) {
      T* to = result + r * pitch + v * lanes<T>;
      store(to, add ? load(to) + sums[r][v] : sums[r][v]);
    }
  }
}

// sums[r * pitch + c * column_pitch] += sum over k < terms of left[r * left_pitch + k] * right(c)[k], which is
// converted to T where it is stored as something else.
template <int R, int C, class T, class Right>
void add_dot_products(const T* left, std::int64_t left_pitch, const Right& right, std::int64_t terms, T* sums,
                      std::int64_t pitch, std::int64_t column_pitch) {
  Vector<T> totals[R][C] = {};
  decltype(right(0)) columns[C];
  for (int c = 0; c < C; ++c) columns[c] = right(c);
  std::int64_t k = 0;
  for (; k + lanes<T> <= terms; k += lanes<T>) {
    Vector<T> rows[R];
    for (int r = 0; r < R; ++r) rows[r] = load(left + r * left_pitch + k);
    for (int c = 0; c < C; ++c) {
      const Vector<T> column = load_converted<T>(columns[c] + k);
      for (int r = 0; r < R; ++r) totals[r][c] += rows[r] * column;
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int c = 0; c < C; ++c) {
      T total = sum_of_lanes<T>(totals[r][c]);
      for (std::int64_t i = k; i < terms; ++i)
        total = multiply_add(left[r * left_pitch + i], converted<T>(columns[c][i]), total);
      sums[r * pitch + c * column_pitch] += total;
    }
  }
}

// sums [rows, columns] += left [rows, terms] * right, column c of which begins at right(c) and is contiguous. Elements
// of `sums` are `pitch` and `column_pitch` apart.
template <class T, class Right>
void add_all_dot_products(const T* left, std::int64_t left_pitch, std::int64_t rows, const Right& right,
                          std::int64_t columns, std::int64_t terms, T* sums, std::int64_t pitch,
                          std::int64_t column_pitch = 1) {
  std::int64_t row = 0;
  const auto run = [&]<int R>(std::integral_constant<int, R>) {
    for (; row + R <= rows; row += R) {
      if (R == 3 && rows - row == 4) return;  // two pairs: sums of a single row wait for each other
      const T* from = left + row * left_pitch;
      T* to = sums + row * pitch;
      std::int64_t column = 0;
      const auto next = [&](int c) { return right(column + c); };
      for (; column + dot_columns <= columns; column += dot_columns) {
        add_dot_products<R, dot_columns>(from, left_pitch, next, terms, to + column * column_pitch, pitch,
                                         column_pitch);
      }
      for (; column < columns; ++column)
        add_dot_products<R, 1>(from, left_pitch, next, terms, to + column * column_pitch, pitch, column_pitch);
    }
  };
  run(std::integral_constant<int, dot_rows>{});
  if constexpr (dot_rows > 2) run(std::integral_constant<int, 2>{});
  run(std::integral_constant<int, 1>{});
}

}  // namespace msrun::tiles
