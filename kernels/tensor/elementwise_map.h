// The elementwise engine: applies a scalar function to broadcast tensors of any dtype, in blocks that stay in the
// first-level cache.
//
// The function is a generic lambda. It is instantiated for the compute types: double for float64, float for the other
// floats (narrow ones are converted at load and rounded at store), int64 for integers and bool; std::complex<double>
// for complex dtypes, where the function is marked by complex_too. Included by kernel and operator files only.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "kernels/base/error.h"
#include "kernels/tensor/convert.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// The widths an elementwise function can be computed in.
enum class Compute : std::uint8_t { float32, float64, int64, complex128 };

// What functions of complex elements compute in, complex64 included: it is rounded once, at the end.
using Complex = std::complex<double>;
template <class T>
inline constexpr bool is_complex_number = std::is_same_v<T, Complex>;

inline Compute compute_of(DType dtype) {
  if (is_complex(dtype)) return Compute::complex128;
  if (dtype == DType::float64) return Compute::float64;
  return is_floating(dtype) ? Compute::float32 : Compute::int64;
}

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

namespace elementwise_detail {

inline constexpr std::int64_t block = 512;

template <class T, class F, std::size_t N, std::size_t... K>
void apply(F& f, const std::array<const T*, N>& in, T* out, std::int64_t count,
           std::index_sequence<K...> /*operands*/) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(f(in[K][i]...));
}

template <class T, class F, std::size_t N>
void run(Tensor& result, const std::array<const Tensor*, N>& operands, F& f) {
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
        apply<T>(f, in, result.mutable_data<T>() + position + start, count, std::make_index_sequence<N>{});
      } else {
        apply<T>(f, in, result_buffer.data(), count, std::make_index_sequence<N>{});
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

[[noreturn]] inline void refuse_complex() { throw SkipError("Complex tensors are not supported by this operator."); }

template <class F, std::size_t N>
void run_in(Compute compute, Tensor& result, const std::array<const Tensor*, N>& inputs, F& f) {
  switch (compute) {
    case Compute::float32:
      run<float>(result, inputs, f);
      break;
    case Compute::float64:
      run<double>(result, inputs, f);
      break;
    case Compute::int64:
      if constexpr (requires { f.floats_only; }) {
        run<float>(result, inputs, f);
      } else {
        run<std::int64_t>(result, inputs, f);
      }
      break;
    case Compute::complex128:
      if constexpr (requires { f.complex_too; }) {
        run<Complex>(result, inputs, f);
      } else {
        refuse_complex();
      }
      break;
  }
}

template <class F, std::size_t N>
Tensor dispatch(Compute compute, DType result_dtype, const std::array<const Tensor*, N>& operands, F& f) {
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
  if constexpr (requires { f.complex_only; }) {
    run<Complex>(result, inputs, f);
    return result;
  } else {
    run_in(compute, result, inputs, f);
    return result;
  }
}

template <class Function>
struct FloatsOnly : Function {
  static constexpr bool floats_only = true;
};

template <class Function>
struct ComplexToo : Function {
  static constexpr bool complex_too = true;
};

template <class Function>
struct ComplexOnly : Function {
  static constexpr bool complex_only = true;
};

}  // namespace elementwise_detail

// Keeps a function that makes no sense for integers from being compiled for int64.
template <class F>
auto floats_only(F f) {
  return elementwise_detail::FloatsOnly<F>{f};
}

// Has a function compiled for complex numbers as well; without this mark complex operands are a SkipError. What it
// returns for a result that is real is the real part, or a bool.
template <class F>
auto complex_too(F f) {
  return elementwise_detail::ComplexToo<F>{f};
}

// f over the broadcast operands, computed in `compute`, stored as result_dtype. One to five operands.
template <class F>
Tensor map_as(Compute compute, DType result_dtype, const Tensor& a, F f) {
  return elementwise_detail::dispatch<F, 1>(compute, result_dtype, {&a}, f);
}
template <class F>
Tensor map_as(Compute compute, DType result_dtype, const Tensor& a, const Tensor& b, F f) {
  return elementwise_detail::dispatch<F, 2>(compute, result_dtype, {&a, &b}, f);
}
template <class F>
Tensor map_as(Compute compute, DType result_dtype, const Tensor& a, const Tensor& b, const Tensor& c, F f) {
  return elementwise_detail::dispatch<F, 3>(compute, result_dtype, {&a, &b, &c}, f);
}
template <class F>
Tensor map_as(Compute compute, DType result_dtype, const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d,
              F f) {
  return elementwise_detail::dispatch<F, 4>(compute, result_dtype, {&a, &b, &c, &d}, f);
}

// map_as for functions of floats, computed in the width that result_dtype asks for.
template <class F>
Tensor map(DType result_dtype, const Tensor& a, F f) {
  return map_as(compute_of(result_dtype), result_dtype, a, floats_only(f));
}
template <class F>
Tensor map(DType result_dtype, const Tensor& a, const Tensor& b, F f) {
  return map_as(compute_of(result_dtype), result_dtype, a, b, floats_only(f));
}
template <class F>
Tensor map(DType result_dtype, const Tensor& a, const Tensor& b, const Tensor& c, F f) {
  return map_as(compute_of(result_dtype), result_dtype, a, b, c, floats_only(f));
}
template <class F>
Tensor map(DType result_dtype, const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d, F f) {
  return map_as(compute_of(result_dtype), result_dtype, a, b, c, d, floats_only(f));
}

// f, which is instantiated for Complex only, over broadcast operands of any dtype.
template <class F, class... Operands>
Tensor map_complex(DType result_dtype, F f, const Operands&... operands) {
  elementwise_detail::ComplexOnly<F> only{f};
  return elementwise_detail::dispatch<elementwise_detail::ComplexOnly<F>, sizeof...(operands)>(
      Compute::complex128, result_dtype, {&operands...}, only);
}

// Arithmetic that wraps around for int64, as two's complement does; plain for floats.
template <class T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}
template <class T>
T wrapping_sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  } else {
    return a - b;
  }
}
template <class T>
T wrapping_mul(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else if constexpr (is_complex_number<T>) {
    // As torch: without the rules of C's Annex G for infinite factors.
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  } else {
    return a * b;
  }
}
template <class T>
T wrapping_neg(T a) {
  if constexpr (std::is_integral_v<T>) {
    return wrapping_sub(T{0}, a);
  } else {
    return -a;
  }
}

// False for integers; either part of a complex number may be NaN.
template <class T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(value);
  } else if constexpr (is_complex_number<T>) {
    return std::isnan(value.real()) || std::isnan(value.imag());
  } else {
    return false;
  }
}

// The conjugate of a complex number, any other number itself. The gradient of z with respect to x in torch's convention
// is that of the loss times the conjugate of dz/dx.
template <class T>
T conjugate(T value) {
  if constexpr (is_complex_number<T>) {
    return std::conj(value);
  } else {
    return value;
  }
}

// A Python number in the compute type; beyond the range of int64 it saturates, NaN becomes 0.
template <class T>
T number_as(double value) {
  if constexpr (std::is_integral_v<T>) {
    if (std::isnan(value)) return 0;
    if (value >= 0x1p63) return std::numeric_limits<T>::max();
    if (value < -0x1p63) return std::numeric_limits<T>::min();
  }
  return static_cast<T>(value);
}

}  // namespace msrun
