// Conversion of runs of elements between storage types; the loops that Tensor::to, the elementwise engine and the
// comparison share.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/base/replaced.h"
#include "kernels/tensor/dtype.h"

namespace msrun {

// The dtype whose elements are stored as T, for the types in which kernels compute.
template <class T>
inline constexpr DType own_dtype = std::is_same_v<T, float>                  ? DType::float32
                                   : std::is_same_v<T, double>               ? DType::float64
                                   : std::is_same_v<T, std::complex<double>> ? DType::complex128
                                                                             : DType::int64;

// Reads count elements of dtype at source, stride elements apart (0 repeats one element), as T (float, double, int64 or
// std::complex<double>). Integers narrow to float by rounding; floats convert to int64 by truncation; of a complex
// element a real T takes the real part.
template <class T>
void load_run(DType dtype, const std::byte* source, std::int64_t stride, std::int64_t count, T* target);

// Writes count values row-major, rounding to nearest even; integers wrap, as two's complement does. A real dtype keeps
// the real part of a complex value, bool whether either part is not zero.
template <class T>
void store_run(DType dtype, const T* source, std::int64_t count, std::byte* target);

// While it lives, what the calling thread stores in a floating dtype that is narrower than T is cut toward zero, and
// not rounded, if `truncate` says so: the largest finite value in place of infinity. A model of faulty hardware
// (Arithmetic::rounds_to_zero); an inner one counts until it ends.
class StoreRounding {
 public:
  explicit StoreRounding(bool truncate);

 private:
  Replaced<bool> truncates_;
};

}  // namespace msrun
