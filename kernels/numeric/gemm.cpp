#include "kernels/numeric/gemm.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "kernels/base/parallel.h"
#include "kernels/numeric/gemm_packing.h"
#include "kernels/numeric/sums_in_order.h"
#include "kernels/numeric/tiles.h"
#include "kernels/tensor/convert.h"
#include "kernels/tensor/dtype.h"

namespace msrun {
namespace {

using namespace packing;

template <class T, class S>
void pack(const MatrixView<S>& view, T* target) {
  for (std::int64_t i = 0; i < view.rows; ++i) {
    const S* row = view.data + i * view.row_stride;
    for (std::int64_t j = 0; j < view.columns; ++j)
      target[i * view.columns + j] = converted<T>(row[j * view.column_stride]);
  }
}

// The view itself if its rows are contiguous, else a row-major copy in `storage`.
template <class T>
MatrixView<T> with_contiguous_rows(const MatrixView<T>& view, std::vector<T>& storage) {
  if (view.column_stride == 1 || view.columns == 1) return {view.data, view.rows, view.columns, view.row_stride, 1};
  storage.resize(static_cast<std::size_t>(view.rows * view.columns));
  pack(view, storage.data());
  return {storage.data(), view.rows, view.columns, view.columns, 1};
}

// Products in float32; the accumulator rounds the running sum after every addition. Some columns of a row advance
// together.
template <Accumulator A>
void multiply_in_order(const MatrixView<float>& a, const MatrixView<float>& b, float* result,
                       std::int64_t result_stride, bool add) {
  constexpr std::size_t together = 64;
  std::vector<float> storage;
  const MatrixView<float> rows = with_contiguous_rows(b, storage);
  std::array<float, together> sums{};
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const auto factor = [&](std::int64_t k) { return a.data[i * a.row_stride + k * a.column_stride]; };
    float* to = result + i * result_stride;
    if (!add) std::fill_n(to, b.columns, 0.0F);
    std::int64_t j = 0;
    for (; j + static_cast<std::int64_t>(together) <= b.columns; j += together) {
      std::copy_n(to + j, together, sums.data());
      add_in_order<A>(
          a.columns, factor, [&](std::int64_t k) { return rows.data + k * rows.row_stride + j; }, sums);
      std::copy_n(sums.data(), together, to + j);
    }
    for (std::int64_t k = 0; k < a.columns && j < b.columns; ++k) {
      const float* row = rows.data + k * rows.row_stride;
      for (std::int64_t last = j; last < b.columns; ++last) to[last] = accumulate<A>(to[last], factor(k) * row[last]);
    }
  }
}

// Integer products wrap, as two's complement does.
void multiply_integers(const MatrixView<std::int64_t>& a, const MatrixView<std::int64_t>& b, std::int64_t* result,
                       std::int64_t result_stride, bool accumulate) {
  std::vector<std::int64_t> storage;
  const MatrixView<std::int64_t> rows = with_contiguous_rows(b, storage);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    std::int64_t* sums = result + i * result_stride;
    if (!accumulate) std::fill_n(sums, b.columns, std::int64_t{0});
    for (std::int64_t k = 0; k < a.columns; ++k) {
      const auto factor = static_cast<std::uint64_t>(a.data[i * a.row_stride + k * a.column_stride]);
      const std::int64_t* row = rows.data + k * rows.row_stride;
      for (std::int64_t j = 0; j < b.columns; ++j) {
        sums[j] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sums[j]) +
                                            factor * static_cast<std::uint64_t>(row[j]));
      }
    }
  }
}

// Terms of a sum that are added up in registers before they join the result: a tile of rows takes a third of the
// first-level cache, so that the panels which stream past do not push it out.
template <class T>
constexpr std::int64_t terms_at_once = 2048 / static_cast<std::int64_t>(sizeof(T));
// Rows and columns of the packed operands that are worked on together: they stay in the second-level cache.
constexpr std::int64_t rows_at_once = 64;
template <class T>
constexpr std::int64_t columns_at_once = 8 * panel_width<T>;
// Rows that are packed once for all columns.
constexpr std::int64_t packed_rows = 16 * rows_at_once;

// Memory of a thread that is used again for every product, aligned for the widest vectors.
template <class T>
class ReusedBuffer {
 public:
  T* reserve(std::int64_t count) {
    if (count > size_) {
      values_.reset(static_cast<T*>(::operator new[](static_cast<std::size_t>(count) * sizeof(T), alignment)));
      size_ = count;
    }
    return values_.get();
  }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(T* values) const { ::operator delete[](values, alignment); }
  };
  std::unique_ptr<T[], Free> values_;
  std::int64_t size_ = 0;
};

// Long panels are larger than the first-level cache, and stream through it faster than the processor fetches by itself.
constexpr int terms_ahead = 12;
constexpr std::int64_t most_terms_nearby = 128;

// One tile of rows times one panel; of the panel the first `columns` count.
template <int R, class T>
void multiply_panel(const T* panel, const T* rows, std::int64_t terms, std::int64_t columns, T* result,
                    std::int64_t result_stride, bool add) {
  constexpr std::int64_t width = panel_width<T>;
  const auto offset = [](std::int64_t k) { return k * width; };
  if (columns == width) {
    // The sums are worth a memory access's time: by their end the results they join have come.
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < widest; ++v) __builtin_prefetch(result + r * result_stride + v * lanes<T>, 1);
    }
    if (terms > most_terms_nearby) {
      multiply_tile<R, widest, terms_ahead>(panel, offset, rows, terms, result, result_stride, add);
    } else {
      multiply_tile<R, widest>(panel, offset, rows, terms, result, result_stride, add);
    }
    return;
  }
  alignas(64) std::array<T, static_cast<std::size_t>(R * width)> tile;
  if (columns > 2 * lanes<T>) {
    multiply_tile<R, 3>(panel, offset, rows, terms, tile.data(), width, false);
  } else if (columns > lanes<T>) {
    multiply_tile<R, 2>(panel, offset, rows, terms, tile.data(), width, false);
  } else {
    multiply_tile<R, 1>(panel, offset, rows, terms, tile.data(), width, false);
  }
  for (std::int64_t r = 0; r < R; ++r) {
    const T* from = tile.data() + r * width;
    T* to = result + r * result_stride;
    for (std::int64_t j = 0; j < columns; ++j) to[j] = add ? to[j] + from[j] : from[j];
  }
}

// result (+)= a b, both operands packed piece by piece.
template <class T>
void multiply_by_panels(const Operand<T>& a, const Operand<T>& b, T* result, std::int64_t result_stride,
                        bool accumulate) {
  thread_local ReusedBuffer<T> row_storage;
  thread_local ReusedBuffer<T> column_storage;
  constexpr std::int64_t width = panel_width<T>;
  for (std::int64_t top = 0; top < a.rows; top += packed_rows) {
    const std::int64_t height = std::min(packed_rows, a.rows - top);
    for (std::int64_t from = 0; from < a.columns; from += terms_at_once<T>) {
      const std::int64_t terms = std::min(terms_at_once<T>, a.columns - from);
      const bool add = accumulate || from > 0;
      T* const tiles = row_storage.reserve(height * terms);
      a.visit([&](const auto& rows) {
        for (std::int64_t row = 0; row < height; row += rows_at_once)
          pack_row_tiles(rows, top + row, std::min(rows_at_once, height - row), from, terms, tiles + row * terms);
      });
      for (std::int64_t first = 0; first < b.columns; first += columns_at_once<T>) {
        const std::int64_t columns = std::min(columns_at_once<T>, b.columns - first);
        T* const panels = column_storage.reserve((columns + width - 1) / width * width * terms);
        b.visit([&](const auto& matrix) { pack_columns(matrix, first, columns, from, terms, panels); });
        for (std::int64_t block = 0; block < height; block += rows_at_once) {
          const T* tile = tiles + block * terms;
          for_each_row_tile(std::min(rows_at_once, height - block), [&](std::int64_t row, std::int64_t rows) {
            T* to = result + (top + block + row) * result_stride + first;
            with_height(rows, [&]<int R>(std::integral_constant<int, R>) {
              for (std::int64_t column = 0; column < columns; column += width) {
                multiply_panel<R>(panels + column * terms, tile, terms, std::min(width, columns - column), to + column,
                                  result_stride, add);
              }
            });
            tile += rows * terms;
          });
        }
      }
    }
  }
}

// Calls run(a, b, row, column) for pieces of the result, whose first element is that of row and column, with the parts
// of the operands that they are products of. Each packs its operands anew.
template <class T, class Run>
void for_each_piece_together(const Operand<T>& a, const Operand<T>& b, const Run& run) {
  constexpr std::int64_t piece_rows = 2 * rows_at_once;
  constexpr std::int64_t piece_columns = columns_at_once<T>;
  const bool by_rows = a.rows >= b.columns;
  const std::int64_t size = by_rows ? piece_rows : piece_columns;
  const std::int64_t total = by_rows ? a.rows : b.columns;
  run_pieces((total + size - 1) / size, [&](std::int64_t piece) {
    const std::int64_t first = piece * size;
    const std::int64_t count = std::min(size, total - first);
    if (by_rows) {
      run(a.part(first, count, 0, a.columns), b, first, std::int64_t{0});
    } else {
      run(a, b.part(0, b.rows, first, count), std::int64_t{0}, first);
    }
  });
}

template <class T>
void multiply_by_panels_together(const Operand<T>& a, const Operand<T>& b, T* result, std::int64_t result_stride,
                                 bool accumulate) {
  for_each_piece_together(
      a, b, [&](const Operand<T>& rows, const Operand<T>& columns, std::int64_t row, std::int64_t column) {
        multiply_by_panels(rows, columns, result + row * result_stride + column, result_stride, accumulate);
      });
}

// a b rounded to `dtype`, block by block: what a block sums up in float32 stays in the caches.
void multiply_rounded(const Operand<float>& a, const Operand<float>& b, DType dtype, std::byte* result,
                      std::int64_t result_stride) {
  constexpr std::int64_t block_columns = 4 * columns_at_once<float>;
  thread_local ReusedBuffer<float> block_storage;
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  for (std::int64_t top = 0; top < a.rows; top += packed_rows) {
    const std::int64_t height = std::min(packed_rows, a.rows - top);
    for (std::int64_t first = 0; first < b.columns; first += block_columns) {
      const std::int64_t columns = std::min(block_columns, b.columns - first);
      float* const block = block_storage.reserve(height * columns);
      multiply_by_panels(a.part(top, height, 0, a.columns), b.part(0, b.rows, first, columns), block, columns, false);
      for (std::int64_t row = 0; row < height; ++row) {
        store_run<float>(dtype, block + row * columns, columns, result + ((top + row) * result_stride + first) * size);
      }
    }
  }
}

// Runs the pieces, shared out where there are several and that pays.
template <class Run>
void run_each(std::int64_t pieces, bool pays, const Run& run) {
  if (pieces > 1 && pays) return run_pieces(pieces, run);
  for (std::int64_t piece = 0; piece < pieces; ++piece) run(piece);
}

// result (+)= few many for few rows, and columns of `many` that are contiguous. Elements of the result are row_pitch
// and column_pitch apart. `few` is copied where its rows are not contiguous elements of T.
template <class T>
void multiply_by_dot_products(const Operand<T>& few, const Operand<T>& many, T* result, std::int64_t row_pitch,
                              std::int64_t column_pitch, bool accumulate) {
  std::vector<T> storage;
  const T* rows = static_cast<const T*>(few.data);
  std::int64_t rows_pitch = few.row_stride;
  if (few.column_stride != 1 || few.dtype != own_dtype<T>) {
    storage.resize(static_cast<std::size_t>(few.rows * few.columns));
    few.visit([&](const auto& view) { pack(view, storage.data()); });
    rows = storage.data();
    rows_pitch = few.columns;
  }
  // Long enough for the registers, short enough for the columns of a tile to stay near.
  constexpr std::int64_t longest = 2048;
  // All rows meet a tile's columns before the next ones are fetched.
  constexpr std::int64_t piece_columns = std::int64_t{16} * dot_columns;
  const auto run = [&](std::int64_t piece) {
    const std::int64_t end = std::min(many.columns, (piece + 1) * piece_columns);
    for (std::int64_t first = piece * piece_columns; first < end; first += dot_columns) {
      const std::int64_t count = std::min<std::int64_t>(dot_columns, end - first);
      T* const sums = result + first * column_pitch;
      for (std::int64_t i = 0; !accumulate && i < few.rows; ++i) {
        for (std::int64_t j = 0; j < count; ++j) sums[i * row_pitch + j * column_pitch] = T{};
      }
      many.visit([&](const auto& view) {
        for (std::int64_t from = 0; from < few.columns; from += longest) {
          add_all_dot_products(
              rows + from, rows_pitch, few.rows,
              [&](std::int64_t column) { return view.data + (first + column) * view.column_stride + from; }, count,
              std::min(longest, few.columns - from), sums, row_pitch, column_pitch);
        }
      });
    }
  };
  run_each((many.columns + piece_columns - 1) / piece_columns, help_pays(few.rows, few.columns, many.columns), run);
}

// result (+)= a b for many rows and few columns, as the transposed result of b' a': rows are packed in vectors so, and
// columns fill the tiles that packing one by one is for.
template <class T>
void multiply_turned(const Operand<T>& a, const Operand<T>& b, T* result, std::int64_t result_stride, bool accumulate) {
  constexpr std::int64_t piece_rows = 2 * columns_at_once<T>;
  const auto run = [&](std::int64_t piece) {
    const std::int64_t first = piece * piece_rows;
    const std::int64_t rows = std::min(piece_rows, a.rows - first);
    thread_local ReusedBuffer<T> storage;
    T* const turned = storage.reserve(b.columns * rows);
    const auto each = [&](const auto& f) {
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < b.columns; ++j) f(result[(first + i) * result_stride + j], turned[j * rows + i]);
      }
    };
    if (accumulate) each([](const T& from, T& to) { to = from; });
    multiply_by_panels(b.transposed(), a.part(first, rows, 0, a.columns).transposed(), turned, rows, accumulate);
    each([](T& to, const T& from) { to = from; });
  };
  run_each((a.rows + piece_rows - 1) / piece_rows, help_pays(a.rows, a.columns, b.columns), run);
}

constexpr std::int64_t few_rows = 24;
constexpr std::int64_t few_columns = 8;
constexpr std::int64_t narrow = 48;  // columns

// Panels of packed operands, or dot products where few results have contiguous rows and columns.
template <class T>
void multiply(const Operand<T>& a, const Operand<T>& b, T* result, std::int64_t result_stride, bool accumulate) {
  if (a.column_stride == 1 && a.columns >= 4 * lanes<T>) {
    if (b.columns <= few_columns)
      return multiply_by_dot_products<T>(b.transposed(), a.transposed(), result, 1, result_stride, accumulate);
    if (a.rows <= few_rows && b.row_stride == 1)
      return multiply_by_dot_products<T>(a, b, result, result_stride, 1, accumulate);
  }
  if (b.columns <= narrow && a.rows >= 8 * b.columns) {
    multiply_turned<T>(a, b, result, result_stride, accumulate);
  } else if (help_pays(a.rows, a.columns, b.columns)) {
    multiply_by_panels_together<T>(a, b, result, result_stride, accumulate);
  } else {
    multiply_by_panels<T>(a, b, result, result_stride, accumulate);
  }
}

}  // namespace

template <class T>
void gemm(const MatrixView<T>& left, const MatrixView<T>& right, T* result, std::int64_t result_stride, bool accumulate,
          const Arithmetic& arithmetic) {
  MatrixView<T> a = left;
  MatrixView<T> b = right;
  a.columns = b.rows = arithmetic.summation.used(a.columns);
  if (a.rows == 0 || b.columns == 0) return;
  if (a.columns == 0) {
    for (std::int64_t i = 0; !accumulate && i < a.rows; ++i) std::fill_n(result + i * result_stride, b.columns, T{});
    return;
  }
  if constexpr (std::is_same_v<T, std::int64_t>) {
    multiply_integers(a, b, result, result_stride, accumulate);
  } else {
    if constexpr (std::is_same_v<T, float>) {
      if (arithmetic.summation.accumulator != Accumulator::wide) {
        return with_accumulator(arithmetic.summation.accumulator,
                                [&]<Accumulator A>(std::integral_constant<Accumulator, A>) {
                                  multiply_in_order<A>(a, b, result, result_stride, accumulate);
                                });
      }
    }
    multiply<T>(a, b, result, result_stride, accumulate);
  }
}

bool takes_stored(const StoredMatrix& a, const StoredMatrix& b, DType dtype) {
  // Half results are rounded from blocks of packed operands; of small matrices the copies cost nothing.
  if (is_half(dtype) && (a.rows <= few_rows || b.columns <= few_columns)) return false;
  constexpr double large = 1e6;
  return static_cast<double>(a.rows) * static_cast<double>(a.columns) * static_cast<double>(b.columns) > large;
}

void gemm_stored(const StoredMatrix& left, const StoredMatrix& right, DType dtype, std::byte* result) {
  const std::int64_t stride = right.columns;
  if (dtype == DType::float64) {
    return multiply<double>(Operand<double>(left), Operand<double>(right), reinterpret_cast<double*>(result), stride,
                            false);
  }
  const Operand<float> a(left);
  const Operand<float> b(right);
  if (dtype == DType::float32) return multiply<float>(a, b, reinterpret_cast<float*>(result), stride, false);
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  if (!help_pays(a.rows, a.columns, b.columns)) return multiply_rounded(a, b, dtype, result, stride);
  for_each_piece_together(
      a, b, [&](const Operand<float>& rows, const Operand<float>& columns, std::int64_t row, std::int64_t column) {
        multiply_rounded(rows, columns, dtype, result + (row * stride + column) * size, stride);
      });
}

template void gemm<float>(const MatrixView<float>&, const MatrixView<float>&, float*, std::int64_t, bool,
                          const Arithmetic&);
template void gemm<std::int64_t>(const MatrixView<std::int64_t>&, const MatrixView<std::int64_t>&, std::int64_t*,
                                 std::int64_t, bool, const Arithmetic&);
template void gemm<double>(const MatrixView<double>&, const MatrixView<double>&, double*, std::int64_t, bool,
                           const Arithmetic&);

}  // namespace msrun
