#include "kernels/tensor/elementwise_map.h"

#include <algorithm>

#include "kernels/base/error.h"
#include "kernels/tensor/convert.h"

namespace msrun::elementwise_detail {
namespace {

constexpr std::int64_t block = 512;

// Strides of operands over a common shape, with neighbouring axes merged where every operand allows it, so that inner
// loops are as long as possible.
template <std::size_t N>
struct LoopNest {
  Dims shape;                   // outer to inner, at least one axis
  std::array<Dims, N> strides;  // in elements; 0 where an operand is repeated
};

template <std::size_t N>
LoopNest<N> make_loop_nest(const Dims& shape, const std::array<const Tensor*, N>& operands) {
  LoopNest<N> nest;
  std::array<Tensor, N> expanded;
  for (std::size_t k = 0; k < N; ++k) expanded[k] = operands[k]->expand(shape);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    bool merge = !nest.shape.empty();
    for (std::size_t k = 0; merge && k < N; ++k) {
      merge = nest.strides[k].back() == expanded[k].strides()[axis] * shape[axis];
    }
    if (merge) {
      nest.shape.back() *= shape[axis];
      for (std::size_t k = 0; k < N; ++k) nest.strides[k].back() = expanded[k].strides()[axis];
    } else {
      nest.shape.push_back(shape[axis]);
      for (std::size_t k = 0; k < N; ++k) nest.strides[k].push_back(expanded[k].strides()[axis]);
    }
  }
  if (nest.shape.empty()) {
    nest.shape.push_back(1);
    for (auto& strides : nest.strides) strides.push_back(1);
  }
  return nest;
}

template <class T, std::size_t N>
void run(Tensor& result, const std::array<const Tensor*, N>& operands, Kernel<T> kernel, const void* f) {
  if (result.numel() == 0) return;
  const LoopNest<N> nest = make_loop_nest<N>(result.shape(), operands);
  const std::size_t outer_axes = nest.shape.size() - 1;
  const std::int64_t row = nest.shape.back();
  alignas(64) std::array<std::array<T, block>, N> buffers;
  alignas(64) std::array<T, block> result_buffer;
  std::array<std::int64_t, N> offset{};
  Dims index(outer_axes);
  std::array<bool, N> direct;
  std::array<bool, N> repeated;
  for (std::size_t k = 0; k < N; ++k) {
    direct[k] = operands[k]->dtype() == own_dtype<T> && nest.strides[k].back() == 1;
    repeated[k] = nest.strides[k].back() == 0;
  }
  const bool direct_result = result.dtype() == own_dtype<T>;
  const auto result_size = static_cast<std::int64_t>(size_of(result.dtype()));
  for (std::int64_t position = 0; position < result.numel(); position += row) {
    for (std::int64_t start = 0; start < row; start += block) {
      const std::int64_t count = std::min(block, row - start);
      std::array<const T*, N> in;
      for (std::size_t k = 0; k < N; ++k) {
        const Tensor& operand = *operands[k];
        const std::int64_t stride = nest.strides[k].back();
        const std::int64_t at = offset[k] + start * stride;
        if (direct[k]) {
          in[k] = operand.data<T>() + at;
          continue;
        }
        in[k] = buffers[k].data();
        if (repeated[k] && start > 0) continue;
        load_run<T>(operand.dtype(), operand.raw() + at * static_cast<std::int64_t>(size_of(operand.dtype())), stride,
                    count, buffers[k].data());
      }
      if (direct_result) {
        kernel(f, in.data(), result.mutable_data<T>() + position + start, count);
      } else {
        kernel(f, in.data(), result_buffer.data(), count);
        store_run<T>(result.dtype(), result_buffer.data(), count,
                     result.mutable_data<std::byte>() + (position + start) * result_size);
      }
    }
    for (std::size_t axis = outer_axes; axis-- > 0;) {
      for (std::size_t k = 0; k < N; ++k) offset[k] += nest.strides[k][axis];
      if (++index[axis] < nest.shape[axis]) break;
      for (std::size_t k = 0; k < N; ++k) offset[k] -= nest.strides[k][axis] * nest.shape[axis];
      index[axis] = 0;
    }
  }
}

[[noreturn]] void refuse_complex() { throw SkipError("Complex tensors are not supported by this operator."); }

template <std::size_t N>
void run_in(Compute compute, Tensor& result, const std::array<const Tensor*, N>& operands, const Kernels& kernels) {
  if (compute == Compute::complex128) {
    if (kernels.complex128 == nullptr) refuse_complex();
    run<Complex>(result, operands, kernels.complex128, kernels.f);
  } else if (compute == Compute::float64) {
    run<double>(result, operands, kernels.float64, kernels.f);
  } else if (compute == Compute::int64 && kernels.int64 != nullptr) {
    run<std::int64_t>(result, operands, kernels.int64, kernels.f);
  } else {
    run<float>(result, operands, kernels.float32, kernels.f);
  }
}

}  // namespace

template <std::size_t N>
Tensor dispatch(Compute compute, DType result_dtype, const std::array<const Tensor*, N>& operands,
                const Kernels& kernels) {
  Dims shape = operands[0]->shape();
  for (std::size_t k = 1; k < N; ++k) shape = broadcast_shapes(shape, operands[k]->shape());
  for (const Tensor* operand : operands) {
    if (is_complex(operand->dtype()) && compute != Compute::complex128) refuse_complex();
  }
  // Operands that jump along the innermost axis are put in order first, a tile at a time.
  std::array<Tensor, N> ordered;
  std::array<const Tensor*, N> inputs = operands;
  for (std::size_t k = 0; k < N; ++k) {
    const Tensor& operand = *operands[k];
    constexpr std::int64_t worth_it = 4096;  // elements
    if (operand.numel() < worth_it || operand.shape().back() == 1 || operand.strides().back() <= 1) continue;
    ordered[k] = operand.contiguous();
    inputs[k] = &ordered[k];
  }
  Tensor result(result_dtype, shape);
  run_in(compute, result, inputs, kernels);
  return result;
}

template Tensor dispatch(Compute, DType, const std::array<const Tensor*, 1>&, const Kernels&);
template Tensor dispatch(Compute, DType, const std::array<const Tensor*, 2>&, const Kernels&);
template Tensor dispatch(Compute, DType, const std::array<const Tensor*, 3>&, const Kernels&);
template Tensor dispatch(Compute, DType, const std::array<const Tensor*, 4>&, const Kernels&);
template Tensor dispatch(Compute, DType, const std::array<const Tensor*, 5>&, const Kernels&);

}  // namespace msrun::elementwise_detail
