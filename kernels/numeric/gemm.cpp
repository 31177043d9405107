#include "kernels/numeric/gemm.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <type_traits>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/parallel.h"
#include "kernels/numeric/sums.h"
#include "kernels/numeric/tiles.h"
#include "kernels/tensor/complex.h"
#include "kernels/tensor/elementwise_map.h"

namespace msrun {
namespace {

using namespace tiles;

template <class T>
void pack(const MatrixView<T>& view, T* target) {
  for (std::int64_t i = 0; i < view.rows; ++i) {
    const T* row = view.data + i * view.row_stride;
    for (std::int64_t j = 0; j < view.columns; ++j) target[i * view.columns + j] = row[j * view.column_stride];
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

// Products in float32; the running sum is rounded to float16 after every addition. All columns of a row advance
// together.
void gemm_rounding_to_half(const MatrixView<float>& a, const MatrixView<float>& b, float* result,
                           std::int64_t result_stride, bool accumulate) {
  std::vector<float> storage;
  const MatrixView<float> rows = with_contiguous_rows(b, storage);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    float* sums = result + i * result_stride;
    if (!accumulate) std::fill_n(sums, b.columns, 0.0F);
    for (std::int64_t k = 0; k < a.columns; ++k) {
      const float factor = a.data[i * a.row_stride + k * a.column_stride];
      const float* row = rows.data + k * rows.row_stride;
      for (std::int64_t j = 0; j < b.columns; ++j) sums[j] = to_float(to_half(sums[j] + factor * row[j]));
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
constexpr std::int64_t panel_width = widest* lanes<T>;
template <class T>
constexpr std::int64_t columns_at_once = 8 * panel_width<T>;
// Rows that are packed once for all columns.
constexpr std::int64_t packed_rows = 16 * rows_at_once;

// Memory of a thread that is used again for every product, aligned for the widest vectors.
template <class T>
class Scratch {
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

// Columns [first, first + count) and rows [from, from + terms) of b as panels [terms, panel_width], the last one filled
// up with zeros.
template <class T>
void pack_columns(const MatrixView<T>& b, std::int64_t first, std::int64_t count, std::int64_t from, std::int64_t terms,
                  T* to) {
  constexpr std::int64_t width = panel_width<T>;
  const T* const source = b.data + from * b.row_stride + first * b.column_stride;
  const std::int64_t whole = count / width * width;
  if (b.column_stride == 1) {
    for (std::int64_t k = 0; k < terms; ++k) {
      const T* row = source + k * b.row_stride;
      for (std::int64_t column = 0; column < whole; column += width) {
        T* target = to + column * terms + k * width;
        for (std::int64_t v = 0; v < width; v += lanes<T>) store(target + v, load(row + column + v));
      }
      if (whole == count) continue;
      T* target = to + whole * terms + k * width;
      std::copy(row + whole, row + count, target);
      std::fill(target + count - whole, target + width, T{});
    }
    return;
  }
  for (std::int64_t column = 0; column < count; column += width, to += terms * width) {
    const std::int64_t filled = std::min(width, count - column);
    // A few rows at a time, so that every line of memory on both sides is finished while it is near.
    constexpr std::int64_t tile = 16;
    for (std::int64_t start = 0; start < terms; start += tile) {
      const std::int64_t end = std::min(start + tile, terms);
      for (std::int64_t j = 0; j < filled; ++j) {
        const T* line = source + (column + j) * b.column_stride;
        for (std::int64_t k = start; k < end; ++k) to[k * width + j] = line[k * b.row_stride];
      }
    }
    for (std::int64_t k = 0; filled < width && k < terms; ++k)
      std::fill(to + k * width + filled, to + (k + 1) * width, T{});
  }
}

// Rows [first, first + count) of a as the tiles of for_each_row_tile.
template <class T>
void pack_row_tiles(const MatrixView<T>& a, std::int64_t first, std::int64_t count, std::int64_t from,
                    std::int64_t terms, T* to) {
  for_each_row_tile(count, [&](std::int64_t row, std::int64_t height) {
    const T* source = a.data + (first + row) * a.row_stride + from * a.column_stride;
    if (a.row_stride == 1) {
      for (std::int64_t k = 0; k < terms; ++k) std::copy_n(source + k * a.column_stride, height, to + k * height);
    } else {
      with_height(height, [&]<int R>(std::integral_constant<int, R>) {
        std::array<const T*, R> lines;
        for (int r = 0; r < R; ++r) lines[r] = source + r * a.row_stride;
        for (std::int64_t k = 0; k < terms; ++k) {
          for (int r = 0; r < R; ++r) to[k * R + r] = lines[r][k * a.column_stride];
        }
      });
    }
    to += height * terms;
  });
}

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
    multiply_tile<R, widest>(panel, offset, rows, terms, result, result_stride, add);
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
void multiply_by_panels(const MatrixView<T>& a, const MatrixView<T>& b, T* result, std::int64_t result_stride,
                        bool accumulate) {
  thread_local Scratch<T> row_storage;
  thread_local Scratch<T> column_storage;
  constexpr std::int64_t width = panel_width<T>;
  for (std::int64_t top = 0; top < a.rows; top += packed_rows) {
    const std::int64_t height = std::min(packed_rows, a.rows - top);
    for (std::int64_t from = 0; from < a.columns; from += terms_at_once<T>) {
      const std::int64_t terms = std::min(terms_at_once<T>, a.columns - from);
      const bool add = accumulate || from > 0;
      T* const tiles = row_storage.reserve(height * terms);
      for (std::int64_t row = 0; row < height; row += rows_at_once)
        pack_row_tiles(a, top + row, std::min(rows_at_once, height - row), from, terms, tiles + row * terms);
      for (std::int64_t first = 0; first < b.columns; first += columns_at_once<T>) {
        const std::int64_t columns = std::min(columns_at_once<T>, b.columns - first);
        T* const panels = column_storage.reserve((columns + width - 1) / width * width * terms);
        pack_columns(b, first, columns, from, terms, panels);
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

// The same in pieces of the result, each of which packs its operands anew.
template <class T>
void multiply_by_panels_together(const MatrixView<T>& a, const MatrixView<T>& b, T* result, std::int64_t result_stride,
                                 bool accumulate) {
  constexpr std::int64_t piece_rows = 2 * rows_at_once;
  constexpr std::int64_t piece_columns = columns_at_once<T>;
  const bool by_rows = a.rows >= b.columns;
  const std::int64_t size = by_rows ? piece_rows : piece_columns;
  const std::int64_t total = by_rows ? a.rows : b.columns;
  run_pieces((total + size - 1) / size, [&](std::int64_t piece) {
    const std::int64_t first = piece * size;
    const std::int64_t count = std::min(size, total - first);
    MatrixView<T> left = a;
    MatrixView<T> right = b;
    if (by_rows) {
      left.data += first * a.row_stride;
      left.rows = count;
    } else {
      right.data += first * b.column_stride;
      right.columns = count;
    }
    multiply_by_panels(left, right, result + first * (by_rows ? result_stride : 1), result_stride, accumulate);
  });
}

// The same for contiguous rows of a and columns of b, of which a narrow b is given copies.
template <class T>
void multiply_by_dot_products(const MatrixView<T>& a, const MatrixView<T>& b, T* result, std::int64_t result_stride,
                              bool accumulate) {
  std::vector<T> storage;
  MatrixView<T> columns = b;
  if (b.row_stride != 1) {
    storage.resize(static_cast<std::size_t>(b.rows * b.columns));
    pack(b.transposed(), storage.data());
    columns = {storage.data(), b.rows, b.columns, 1, b.rows};
  }
  for (std::int64_t i = 0; !accumulate && i < a.rows; ++i) std::fill_n(result + i * result_stride, b.columns, T{});
  // Long enough for the registers, short enough for the columns of a tile to stay near.
  constexpr std::int64_t piece = 2048;
  for (std::int64_t from = 0; from < a.columns; from += piece) {
    add_all_dot_products(
        a.data + from, a.row_stride, a.rows,
        [&](std::int64_t column) { return columns.data + column * columns.column_stride + from; }, b.columns,
        std::min(piece, a.columns - from), result, result_stride);
  }
}

template <class T>
void multiply(const MatrixView<T>& a, const MatrixView<T>& b, T* result, std::int64_t result_stride, bool accumulate,
              const Arithmetic& arithmetic) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    multiply_integers(a, b, result, result_stride, accumulate);
  } else {
    gemm(a, b, result, result_stride, accumulate, arithmetic);
  }
}

template <class T>
MatrixView<T> last_two_axes(const Tensor& tensor) {
  const std::size_t rank = tensor.shape().size();
  return {tensor.data<T>(), tensor.shape()[rank - 2], tensor.shape()[rank - 1], tensor.strides()[rank - 2],
          tensor.strides()[rank - 1]};
}

Dims batch_axes(const Dims& shape) { return {shape.begin(), shape.end() - 2}; }

Dims with_matrix(Dims batch, std::int64_t rows, std::int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

// One product per batch position; result has the batch axes of the operands, or size 1 where they are summed.
template <class T>
void run_batches(const Tensor& a, const Tensor& b, const Dims& batch, Tensor& result, const Arithmetic& arithmetic) {
  const MatrixView<T> first_a = last_two_axes<T>(a);
  const MatrixView<T> first_b = last_two_axes<T>(b);
  const Dims a_strides = a.expand(with_matrix(batch, -1, -1)).strides();
  const Dims b_strides = b.expand(with_matrix(batch, -1, -1)).strides();
  const Dims result_strides = result.expand(with_matrix(batch, -1, -1)).strides();
  const bool summed = element_count(batch) != element_count(batch_axes(result.shape()));
  note_sums(first_a.columns * (element_count(batch) / element_count(batch_axes(result.shape()))), result.numel());
  T* const target = result.mutable_data<T>();
  if (summed) std::fill_n(target, result.numel(), T{});
  const auto run_one = [&](std::int64_t position) {
    MatrixView<T> matrix_a = first_a;
    MatrixView<T> matrix_b = first_b;
    std::int64_t offset = 0;
    for (std::size_t axis = batch.size(); axis-- > 0; position /= batch[axis]) {
      const std::int64_t index = position % batch[axis];
      matrix_a.data += index * a_strides[axis];
      matrix_b.data += index * b_strides[axis];
      offset += index * result_strides[axis];
    }
    multiply(matrix_a, matrix_b, target + offset, first_b.columns, summed, arithmetic);
  };
  const std::int64_t count = element_count(batch);
  if (!summed && count > 1 && help_pays(count, first_a.rows, first_a.columns, first_b.columns)) {
    const std::int64_t size = std::max<std::int64_t>(1, count / 64);
    run_pieces((count + size - 1) / size, [&](std::int64_t piece) {
      for (std::int64_t i = piece * size; i < std::min(count, (piece + 1) * size); ++i) run_one(i);
    });
  } else {
    for (std::int64_t i = 0; i < count; ++i) run_one(i);
  }
}

// Whether the axes before the last can be seen as one.
bool leading_axes_merge(const Tensor& tensor) {
  for (std::size_t axis = 0; axis + 2 < tensor.shape().size(); ++axis) {
    if (tensor.strides()[axis] != tensor.strides()[axis + 1] * tensor.shape()[axis + 1]) return false;
  }
  return true;
}

Tensor merge_leading_axes(const Tensor& tensor) {
  const std::size_t rank = tensor.shape().size();
  const std::int64_t columns = tensor.shape()[rank - 1];
  const std::int64_t rows =
      element_count(tensor.shape().empty() ? Dims{} : Dims(tensor.shape().begin(), tensor.shape().end() - 1));
  return tensor.with_strides(Dims{rows, columns}, Dims{tensor.strides()[rank - 2], tensor.strides()[rank - 1]}, 0);
}

Tensor round_to_hf32(const Tensor& tensor) {
  // Round half up in magnitude at bit 12, the rounding of the device (api_inventory.md 2.6).
  const auto round = [](float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const bool finite = (bits & 0x7F800000U) != 0x7F800000U;
    return finite ? std::bit_cast<float>((bits + 0x800U) & 0xFFFFF000U) : value;
  };
  Tensor result(DType::float32, tensor.shape());
  const Tensor source = tensor.contiguous();
  const float* from = source.data<float>();
  float* to = result.mutable_data<float>();
  for (std::int64_t i = 0; i < source.numel(); ++i) to[i] = round(from[i]);
  return result;
}

Tensor product_in(const Tensor& a, const Tensor& b, const Dims& batch, const Dims& shape, DType compute,
                  const Arithmetic& arithmetic) {
  Tensor result(compute, shape);
  if (result.numel() == 0) return result;
  if (compute == DType::float64) {
    run_batches<double>(a, b, batch, result, arithmetic);
  } else if (compute == DType::float32) {
    run_batches<float>(a, b, batch, result, arithmetic);
  } else {
    run_batches<std::int64_t>(a, b, batch, result, arithmetic);
  }
  return result;
}

}  // namespace

template <class T>
void gemm(const MatrixView<T>& a, const MatrixView<T>& b, T* result, std::int64_t result_stride, bool accumulate,
          const Arithmetic& arithmetic) {
  if (a.rows == 0 || b.columns == 0) return;
  if (a.columns == 0) {
    for (std::int64_t i = 0; !accumulate && i < a.rows; ++i) std::fill_n(result + i * result_stride, b.columns, T{});
    return;
  }
  if constexpr (std::is_same_v<T, float>) {
    if (arithmetic.fp16_accumulation) {
      gemm_rounding_to_half(a, b, result, result_stride, accumulate);
      return;
    }
  }
  // Few results of contiguous rows and columns: dot products, without packing.
  const bool few = a.rows <= 24 || b.columns <= 8;
  const bool contiguous = a.column_stride == 1 && (b.row_stride == 1 || b.columns <= 8);
  if (few && contiguous && a.columns >= 4 * lanes<T>) {
    multiply_by_dot_products(a, b, result, result_stride, accumulate);
  } else if (help_pays(a.rows, a.columns, b.columns)) {
    multiply_by_panels_together(a, b, result, result_stride, accumulate);
  } else {
    multiply_by_panels(a, b, result, result_stride, accumulate);
  }
}

template void gemm<float>(const MatrixView<float>&, const MatrixView<float>&, float*, std::int64_t, bool,
                          const Arithmetic&);
template void gemm<double>(const MatrixView<double>&, const MatrixView<double>&, double*, std::int64_t, bool,
                           const Arithmetic&);

DType product_dtype(DType dtype) {
  if (is_complex(dtype)) throw SkipError("This product of complex tensors is not supported.");
  if (dtype == DType::boolean) throw SkipError("Matrix products of bool tensors are not supported.");
  if (dtype == DType::float64) return dtype;
  return is_floating(dtype) ? DType::float32 : DType::int64;
}

Tensor as_operand(const Tensor& tensor, DType compute, const Arithmetic& arithmetic) {
  const bool round = arithmetic.hf32_inputs && tensor.dtype() == DType::float32 && compute == DType::float32;
  if (tensor.dtype() == compute && !round) return tensor;
  // One copy of every stored element, in the order of memory; then the same view of the copy.
  const Dims& shape = tensor.shape();
  Tensor dense = tensor;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (tensor.strides()[axis] == 0 && shape[axis] > 1) dense = dense.slice(static_cast<std::int64_t>(axis), 0, 1);
  }
  Dims order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t x, std::int64_t y) {
    return dense.strides()[static_cast<std::size_t>(x)] > dense.strides()[static_cast<std::size_t>(y)];
  });
  Dims inverse(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  const Tensor in_memory_order = dense.permute(order);
  const Tensor converted = round ? round_to_hf32(in_memory_order) : in_memory_order.to(compute);
  return converted.permute(inverse).expand(shape);
}

Tensor product(const Tensor& a, const Tensor& b, DType dtype, const Arithmetic& arithmetic) {
  const Dims batch = broadcast_shapes(batch_axes(a.shape()), batch_axes(b.shape()));
  return product_to(a, b, with_matrix(batch, a.size(-2), b.size(-1)), dtype, arithmetic);
}

namespace {

Tensor complex_product_to(const Tensor& a, const Tensor& b, const Dims& shape, const Arithmetic& arithmetic) {
  const auto times = [&](const Tensor& x, const Tensor& y) {
    return product_to(x, y, shape, DType::float64, arithmetic);
  };
  // Of a tensor that is real the products with both parts of the other one.
  if (!is_complex(a.dtype())) return part_by_part(b, [&](const Tensor& part) { return times(a, part); });
  if (!is_complex(b.dtype())) return part_by_part(a, [&](const Tensor& part) { return times(part, b); });
  const auto minus = [](auto x, auto y) { return x - y; };
  const auto plus = [](auto x, auto y) { return x + y; };
  return complex_of(
      map(DType::float64, times(real_part(a), real_part(b)), times(imaginary_part(a), imaginary_part(b)), minus),
      map(DType::float64, times(real_part(a), imaginary_part(b)), times(imaginary_part(a), real_part(b)), plus));
}

}  // namespace

Tensor product_to(const Tensor& a, const Tensor& b, const Dims& shape, DType dtype, const Arithmetic& arithmetic) {
  if (a.size(-1) != b.size(-2)) {
    throw SkipError("Matrices of shapes " + tuple_text(a.shape()) + " and " + tuple_text(b.shape()) +
                    " cannot be multiplied.");
  }
  if (is_complex(a.dtype()) || is_complex(b.dtype())) return complex_product_to(a, b, shape, arithmetic).to(dtype);
  const DType compute = product_dtype(dtype);
  const Tensor left = as_operand(a, compute, arithmetic);
  const Tensor right = as_operand(b, compute, arithmetic);
  const Dims batch = broadcast_shapes(batch_axes(a.shape()), batch_axes(b.shape()));
  if (element_count(batch) > 1) {
    // One matrix on the right: a single product over all rows. Both summed: a single product over the longer inner
    // axis.
    if (right.rank() == 2 && shape.size() == batch.size() + 2 && leading_axes_merge(left)) {
      const Tensor rows = merge_leading_axes(left);
      return product_in(rows, right, {}, Dims{rows.size(0), right.size(1)}, compute, arithmetic)
          .reshape(shape)
          .to(dtype);
    }
    const Tensor left_rows = left.transpose(-1, -2);
    if (shape.size() == 2 && left.shape().size() == right.shape().size() &&
        batch_axes(left.shape()) == batch_axes(right.shape()) && leading_axes_merge(left_rows) &&
        leading_axes_merge(right)) {
      return product_in(merge_leading_axes(left_rows).transpose(0, 1), merge_leading_axes(right), {}, shape, compute,
                        arithmetic)
          .to(dtype);
    }
  }
  // Axes that the result lacks are axes of size 1 in it.
  Dims full = shape;
  while (full.size() < batch.size() + 2) full.insert(full.begin(), 1);
  return product_in(left, right, batch, full, compute, arithmetic).reshape(shape).to(dtype);
}

}  // namespace msrun
