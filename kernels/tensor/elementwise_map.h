// The elementwise engine: applies a scalar function to broadcast tensors of any dtype, in blocks that stay in the
// first-level cache.
//
// The function is a generic lambda. It is instantiated for the compute types: double for float64, float for the other
// floats (narrow ones are converted at load and rounded at store), int64 for integers and bool; std::complex<double>
// for complex dtypes, where the function is marked by complex_too. Included by kernel and operator files only.
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

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

namespace elementwise_detail {

// Computes target[i] = f(operands[0][i], operands[1][i], ...) for count neighbouring elements.
template <class T>
using Kernel = void (*)(const void* f, const T* const* operands, T* target, std::int64_t count);

template <class T, class F, std::size_t... K>
[[gnu::flatten]] void apply(const void* f, const T* const* operands, T* target, std::int64_t count) {
  // Flattened, because a function that is called in the loop keeps it from becoming a vector loop, however long it is.
  // Local copies, which no write to the target can change, for the same reason.
  const F function = *static_cast<const F*>(f);
  const std::array<const T*, sizeof...(K)> from = {operands[K]...};
  for (std::int64_t i = 0; i < count; ++i) target[i] = static_cast<T>(function(from[K][i]...));
}

// A function and the kernels made from it: null for types that it is not defined for.
struct Kernels {
  const void* f = nullptr;
  Kernel<float> float32 = nullptr;
  Kernel<double> float64 = nullptr;
  Kernel<std::int64_t> int64 = nullptr;
  Kernel<Complex> complex128 = nullptr;
};

template <class F, std::size_t... K>
Kernels kernels_of(const F& f, std::index_sequence<K...> /*operands*/) {
  Kernels kernels;
  kernels.f = &f;
  if constexpr (requires { f.complex_only; }) {
    kernels.complex128 = apply<Complex, F, K...>;
    return kernels;
  } else {
    kernels.float32 = apply<float, F, K...>;
    kernels.float64 = apply<double, F, K...>;
    if constexpr (!requires { f.floats_only; }) kernels.int64 = apply<std::int64_t, F, K...>;
    if constexpr (requires { f.complex_too; }) kernels.complex128 = apply<Complex, F, K...>;
    return kernels;
  }
}

// All but the innermost loop, which is all that depends on the function: compiled once for one to five operands.
// Functions without a kernel for int64 compute in float32 instead.
template <std::size_t N>
Tensor dispatch(Compute compute, DType result_dtype, const std::array<const Tensor*, N>& operands,
                const Kernels& kernels);

template <class F, class... Operands>
Tensor map_operands(Compute compute, DType result_dtype, const F& f, const Operands&... operands) {
  constexpr std::size_t count = sizeof...(Operands);
  return dispatch<count>(compute, result_dtype, {&operands...}, kernels_of(f, std::make_index_sequence<count>{}));
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
  return elementwise_detail::map_operands(compute, result_dtype, f, a);
}
template <class F>
Tensor map_as(Compute compute, DType result_dtype, const Tensor& a, const Tensor& b, F f) {
  return elementwise_detail::map_operands(compute, result_dtype, f, a, b);
}
template <class F>
Tensor map_as(Compute compute, DType result_dtype, const Tensor& a, const Tensor& b, const Tensor& c, F f) {
  return elementwise_detail::map_operands(compute, result_dtype, f, a, b, c);
}
template <class F>
Tensor map_as(Compute compute, DType result_dtype, const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d,
              F f) {
  return elementwise_detail::map_operands(compute, result_dtype, f, a, b, c, d);
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
  return elementwise_detail::map_operands(Compute::complex128, result_dtype, elementwise_detail::ComplexOnly<F>{f},
                                          operands...);
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
