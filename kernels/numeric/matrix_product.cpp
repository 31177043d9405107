#include "kernels/numeric/matrix_product.h"

#include <algorithm>
#include <numeric>

#include "kernels/base/error.h"
#include "kernels/base/parallel.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/gemm.h"
#include "kernels/tensor/complex.h"
#include "kernels/tensor/elementwise_map.h"

namespace msrun {
namespace {

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

// The product of one row and one column is formed as the sum of a whole tensor is.
SumForm form_of_product(std::int64_t rows, std::int64_t columns) {
  return rows == 1 && columns == 1 ? SumForm::rows : SumForm::series;
}

// What a product is added to.
enum class Onto : std::uint8_t { nothing, result };

// One product per batch position; result has the batch axes of the operands, or size 1 where they are summed.
template <class T>
void run_batches(const Tensor& a, const Tensor& b, const Dims& batch, Tensor& result, const EvaluationContext& context,
                 Onto onto = Onto::nothing) {
  const MatrixView<T> first_a = last_two_axes<T>(a);
  const MatrixView<T> first_b = last_two_axes<T>(b);
  const Dims a_strides = a.expand(with_matrix(batch, -1, -1)).strides();
  const Dims b_strides = b.expand(with_matrix(batch, -1, -1)).strides();
  const Dims result_strides = result.expand(with_matrix(batch, -1, -1)).strides();
  const bool summed = element_count(batch) != element_count(batch_axes(result.shape()));
  const Arithmetic& arithmetic = context.arithmetic;
  context.note_sums(first_a.columns * (element_count(batch) / element_count(batch_axes(result.shape()))),
                    result.numel(), form_of_product(first_a.rows, first_b.columns));
  Arithmetic of_parts = arithmetic;
  of_parts.summation = arithmetic.summation.whole();
  T* const target = result.mutable_data<T>();
  const bool accumulates = summed || onto == Onto::result;
  if (summed && onto == Onto::nothing) std::fill_n(target, result.numel(), T{});
  const auto run_one = [&](std::int64_t position) {
    MatrixView<T> matrix_a = first_a;
    MatrixView<T> matrix_b = first_b;
    std::int64_t offset = 0;
    bool is_last = true;  // of the products that are summed
    for (std::size_t axis = batch.size(); axis-- > 0; position /= batch[axis]) {
      const std::int64_t index = position % batch[axis];
      is_last = is_last && (result_strides[axis] != 0 || index == batch[axis] - 1);
      matrix_a.data += index * a_strides[axis];
      matrix_b.data += index * b_strides[axis];
      offset += index * result_strides[axis];
    }
    gemm(matrix_a, matrix_b, target + offset, first_b.columns, accumulates, is_last ? arithmetic : of_parts);
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

Tensor product_in(const Tensor& a, const Tensor& b, const Dims& batch, const Dims& shape, DType compute,
                  const EvaluationContext& context) {
  Tensor result(compute, shape);
  if (result.numel() == 0) return result;
  if (compute == DType::float64) {
    run_batches<double>(a, b, batch, result, context);
  } else if (compute == DType::float32) {
    run_batches<float>(a, b, batch, result, context);
  } else {
    run_batches<std::int64_t>(a, b, batch, result, context);
  }
  return result;
}

// Whether gemm_stored() converts the elements to the type that a result of dtype `result` is computed in.
bool is_storable(DType dtype, DType result) {
  if (result == DType::float64) return dtype == DType::float32 || dtype == DType::float64;
  return is_half(dtype) || dtype == DType::float32;
}

// The last two axes, the axes before merged with the rows.
StoredMatrix stored_matrix(const Tensor& tensor) {
  const std::size_t rank = tensor.shape().size();
  const std::int64_t columns = tensor.shape()[rank - 1];
  return {tensor.raw(),
          tensor.dtype(),
          columns == 0 ? 0 : tensor.numel() / columns,
          columns,
          tensor.strides()[rank - 2],
          tensor.strides()[rank - 1]};
}

}  // namespace

bool multiplies_stored(const Tensor& a, const Tensor& b, DType dtype, const Arithmetic& arithmetic) {
  const bool converts = is_half(dtype) || a.dtype() != dtype || b.dtype() != dtype;
  if (!converts || arithmetic != Arithmetic{} || !is_floating(dtype)) return false;
  if (!is_storable(a.dtype(), dtype) || !is_storable(b.dtype(), dtype)) return false;
  return b.rank() == 2 && leading_axes_merge(a) && takes_stored(stored_matrix(a), stored_matrix(b), dtype);
}

DType product_dtype(DType dtype) {
  if (is_complex(dtype)) throw SkipError("This product of complex tensors is not supported.");
  if (dtype == DType::boolean) throw SkipError("Matrix products of bool tensors are not supported.");
  if (dtype == DType::float64) return dtype;
  return is_floating(dtype) ? DType::float32 : DType::int64;
}

Tensor as_operand(const Tensor& tensor, DType compute, OperandRounding rounding) {
  const bool round = rounding != OperandRounding::none && tensor.dtype() == DType::float32 && compute == DType::float32;
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
  const Tensor converted = round ? round_operand(in_memory_order, rounding) : in_memory_order.to(compute);
  return converted.permute(inverse).expand(shape);
}

Tensor product(const Tensor& a, const Tensor& b, DType dtype, const EvaluationContext& context) {
  const Dims batch = broadcast_shapes(batch_axes(a.shape()), batch_axes(b.shape()));
  return product_to(a, b, with_matrix(batch, a.size(-2), b.size(-1)), dtype, context);
}

namespace {

Tensor complex_product_to(const Tensor& a, const Tensor& b, const Dims& shape, const EvaluationContext& context) {
  const auto times = [&](const Tensor& x, const Tensor& y) { return product_to(x, y, shape, DType::float64, context); };
  // A real operand is multiplied with each part of the other one.
  if (!is_complex(a.dtype())) return part_by_part(b, [&](const Tensor& part) { return times(a, part); });
  if (!is_complex(b.dtype())) return part_by_part(a, [&](const Tensor& part) { return times(part, b); });
  const auto minus = [](auto x, auto y) { return x - y; };
  const auto plus = [](auto x, auto y) { return x + y; };
  return complex_of(
      map(DType::float64, times(real_part(a), real_part(b)), times(imaginary_part(a), imaginary_part(b)), minus),
      map(DType::float64, times(real_part(a), imaginary_part(b)), times(imaginary_part(a), real_part(b)), plus));
}

}  // namespace

Tensor product_onto(const Tensor& start, const Tensor& a, const Tensor& b, const EvaluationContext& context) {
  const Arithmetic& arithmetic = context.arithmetic;
  const Tensor left = as_operand(a, DType::float32, arithmetic.operands.products);
  const Tensor right = as_operand(b, DType::float32, arithmetic.operands.products);
  const Dims batch = broadcast_shapes(batch_axes(a.shape()), batch_axes(b.shape()));
  Tensor result(DType::float32, with_matrix(batch, a.size(-2), b.size(-1)));
  if (result.numel() == 0) return result;
  const Tensor first = start.to(DType::float32).expand(result.shape()).contiguous();
  std::copy_n(first.data<float>(), first.numel(), result.mutable_data<float>());
  run_batches<float>(left, right, batch, result, context, Onto::result);
  return result;
}

Tensor product_to(const Tensor& a, const Tensor& b, const Dims& shape, DType dtype, const EvaluationContext& context) {
  const Arithmetic& arithmetic = context.arithmetic;
  if (a.size(-1) != b.size(-2)) {
    throw SkipError("Matrices of shapes " + tuple_text(a.shape()) + " and " + tuple_text(b.shape()) +
                    " cannot be multiplied.");
  }
  if (is_complex(a.dtype()) || is_complex(b.dtype())) return complex_product_to(a, b, shape, context).to(dtype);
  if (shape.size() == a.shape().size() && multiplies_stored(a, b, dtype, arithmetic)) {
    Tensor result(dtype, shape);
    context.note_sums(b.size(0), result.numel(), form_of_product(a.size(0), b.size(1)));
    gemm_stored(stored_matrix(a), stored_matrix(b), dtype, result.mutable_data<std::byte>());
    return result;
  }
  const DType compute = product_dtype(dtype);
  if (context.stores_products() && compute == DType::float32) {
    const auto stored = [&](const Dims& of_result) {
      return product_to(a.to(DType::float64), b.to(DType::float64), of_result, DType::float64, context).to(compute);
    };
    if (shape.size() <= 2) return stored(shape).to(dtype);
    // One product for each batch position, and then their sum.
    const Dims batch = broadcast_shapes(batch_axes(a.shape()), batch_axes(b.shape()));
    return sum_to(stored(with_matrix(batch, a.size(-2), b.size(-1))), shape, context.with_sound_arithmetic()).to(dtype);
  }
  const Tensor left = as_operand(a, compute, arithmetic.operands.products);
  const Tensor right = as_operand(b, compute, arithmetic.operands.products);
  const Dims batch = broadcast_shapes(batch_axes(a.shape()), batch_axes(b.shape()));
  if (element_count(batch) > 1) {
    // One matrix on the right: a single product over all rows. Both summed: a single product over the longer inner
    // axis.
    if (right.rank() == 2 && shape.size() == batch.size() + 2 && leading_axes_merge(left)) {
      const Tensor rows = merge_leading_axes(left);
      return product_in(rows, right, {}, Dims{rows.size(0), right.size(1)}, compute, context).reshape(shape).to(dtype);
    }
    const Tensor left_rows = left.transpose(-1, -2);
    if (shape.size() == 2 && left.shape().size() == right.shape().size() &&
        batch_axes(left.shape()) == batch_axes(right.shape()) && leading_axes_merge(left_rows) &&
        leading_axes_merge(right)) {
      return product_in(merge_leading_axes(left_rows).transpose(0, 1), merge_leading_axes(right), {}, shape, compute,
                        context)
          .to(dtype);
    }
  }
  // Axes that the result lacks are axes of size 1 in it.
  Dims full = shape;
  while (full.size() < batch.size() + 2) full.insert(full.begin(), 1);
  return product_in(left, right, batch, full, compute, context).reshape(shape).to(dtype);
}

}  // namespace msrun
