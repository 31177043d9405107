// How reductions see a tensor, [outer, reduced, inner], and the shapes they give: what sums and extrema over axes
// share.
#pragma once

#include <cstdint>

#include "kernels/tensor/convert.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// A tensor seen as [outer, reduced, inner] in row-major order: the reduced axes moved together. Where several reduced
// axes are not neighbours, the tensor is permuted and copied.
struct ReductionView {
  Tensor tensor;  // contiguous, of outer * extent * inner elements
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
  bool of_rows = true;  // no axis that is kept follows a reduced one
  Dims reduced_shape;   // without the reduced axes
  Dims keepdim_shape;   // with size 1 for each reduced axis
};

// axes may be negative, must not repeat; empty means all axes. Throws SkipError otherwise.
ReductionView reduction_view(const Tensor& tensor, const Dims& axes);

// float64 for float64, float32 for the narrower floats, int64 for integers and bool: what reductions compute in. Throws
// SkipError for complex dtypes, which only sum and prod reduce.
DType wide_dtype(DType dtype);

// The shape without the axes (all if empty), or with size 1 for each of them, and the number of elements reduced into
// one.
Dims reduced_shape(const Dims& shape, const Dims& axes, bool keepdim);
std::int64_t reduced_count(const Dims& shape, const Dims& axes);

// A result of a reduction over axes, with or without kept dimensions, repeated along them: the way back of a reduction.
Tensor expand_reduced(const Tensor& reduced, const Dims& shape, const Dims& axes);

// Elements of a run that are converted and reduced at a time.
inline constexpr std::int64_t reduction_block = 2048;

// The elements [start, start + count) of a contiguous tensor as T: the tensor's own memory where T is its dtype, else
// converted into the buffer.
template <class T>
const T* run_of(const Tensor& tensor, std::int64_t start, std::int64_t count, T* buffer) {
  if (tensor.dtype() == own_dtype<T>) return tensor.data<T>() + start;
  const auto size = static_cast<std::int64_t>(size_of(tensor.dtype()));
  load_run<T>(tensor.dtype(), tensor.raw() + start * size, 1, count, buffer);
  return buffer;
}

// Calls f with a value of the type in which a reduction of dtype is computed.
template <class F>
void visit_wide(DType dtype, F f) {
  switch (wide_dtype(dtype)) {
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    default:
      return f(std::int64_t{});
  }
}

}  // namespace msrun
