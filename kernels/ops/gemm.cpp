#define EIGEN_DONT_PARALLELIZE
#include "kernels/ops/gemm.h"

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <numeric>
#include <type_traits>
#include <vector>

#include "kernels/error.h"

namespace msrun {
namespace {

template <class T, int order>
using Map =
    Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, order>, Eigen::Unaligned, Eigen::OuterStride<>>;

template <class T>
using Result = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, Eigen::Unaligned,
                          Eigen::OuterStride<>>;

template <class T, class F>
void with_map(const MatrixView<T>& view, F&& f) {
  if (view.column_stride == 1) {
    f(Map<T, Eigen::RowMajor>(view.data, view.rows, view.columns, Eigen::OuterStride<>(view.row_stride)));
  } else {
    f(Map<T, Eigen::ColMajor>(view.data, view.rows, view.columns, Eigen::OuterStride<>(view.column_stride)));
  }
}

template <class T>
void pack(const MatrixView<T>& view, T* target) {
  for (std::int64_t i = 0; i < view.rows; ++i) {
    const T* row = view.data + i * view.row_stride;
    for (std::int64_t j = 0; j < view.columns; ++j) target[i * view.columns + j] = row[j * view.column_stride];
  }
}

// The view itself if Eigen can map it, else a row-major copy in `storage`. Strides along axes of size 1 are immaterial.
template <class T>
MatrixView<T> mappable(MatrixView<T> view, std::vector<T>& storage, bool rows_only) {
  if (view.columns == 1 && view.row_stride == 1 && !rows_only) {
    view.column_stride = view.rows;
    return view;
  }
  if (view.columns == 1) view.column_stride = 1;
  if (view.rows == 1 && view.column_stride != 1 && !rows_only) view.row_stride = 1;
  const bool row_major = view.column_stride == 1 && (view.rows == 1 || view.row_stride >= view.columns);
  const bool column_major = view.row_stride == 1 && (view.columns == 1 || view.column_stride >= view.rows);
  if (row_major || (column_major && !rows_only)) return view;
  storage.resize(static_cast<std::size_t>(view.rows * view.columns));
  pack(view, storage.data());
  return {storage.data(), view.rows, view.columns, view.columns, 1};
}

// Products in float32; the running sum is rounded to float16 after every addition. All columns of a row advance
// together.
void gemm_rounding_to_half(const MatrixView<float>& a, const MatrixView<float>& b, float* result,
                           std::int64_t result_stride, bool accumulate) {
  std::vector<float> storage;
  const MatrixView<float> rows = mappable(b, storage, true);
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
  const MatrixView<std::int64_t> rows = mappable(b, storage, true);
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
  T* const target = result.mutable_data<T>();
  if (summed) std::fill_n(target, result.numel(), T{});
  Dims index(batch.size());
  for (std::int64_t count = element_count(batch); count > 0; --count) {
    MatrixView<T> matrix_a = first_a;
    MatrixView<T> matrix_b = first_b;
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < batch.size(); ++axis) {
      matrix_a.data += index[axis] * a_strides[axis];
      matrix_b.data += index[axis] * b_strides[axis];
      offset += index[axis] * result_strides[axis];
    }
    multiply(matrix_a, matrix_b, target + offset, first_b.columns, summed, arithmetic);
    for (std::size_t axis = batch.size(); axis-- > 0;) {
      if (++index[axis] < batch[axis]) break;
      index[axis] = 0;
    }
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
  std::vector<T> storage_a;
  std::vector<T> storage_b;
  const MatrixView<T> matrix_a = mappable(a, storage_a, false);
  const MatrixView<T> matrix_b = mappable(b, storage_b, false);
  Result<T> target(result, a.rows, b.columns, Eigen::OuterStride<>(result_stride));
  if (!accumulate) target.setZero();
  with_map(matrix_a,
           [&](const auto& left) { with_map(matrix_b, [&](const auto& right) { target.noalias() += left * right; }); });
}

template void gemm<float>(const MatrixView<float>&, const MatrixView<float>&, float*, std::int64_t, bool,
                          const Arithmetic&);
template void gemm<double>(const MatrixView<double>&, const MatrixView<double>&, double*, std::int64_t, bool,
                           const Arithmetic&);

DType product_dtype(DType dtype) {
  if (is_complex(dtype)) throw SkipError("Matrix products of complex tensors are not supported.");
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

Tensor product_to(const Tensor& a, const Tensor& b, const Dims& shape, DType dtype, const Arithmetic& arithmetic) {
  if (a.size(-1) != b.size(-2)) {
    throw SkipError("Matrices of shapes " + tuple_text(a.shape()) + " and " + tuple_text(b.shape()) +
                    " cannot be multiplied.");
  }
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
