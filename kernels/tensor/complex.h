// Complex tensors and their real and imaginary parts. A complex element is stored as its real part followed by its
// imaginary part, so that the parts are views of the tensor.
#pragma once

#include "kernels/tensor/tensor.h"

namespace msrun {

inline bool is_floating_or_complex(DType dtype) { return is_floating(dtype) || is_complex(dtype); }

// complex128 for float64, complex64 for every other dtype; and float64 for complex128, float32 for complex64.
DType complex_dtype(DType real);
DType part_dtype(DType complex);

// Views of a complex tensor.
Tensor real_part(const Tensor& tensor);
Tensor imaginary_part(const Tensor& tensor);
// Real and imaginary part along a last axis of size 2.
Tensor pairs_of(const Tensor& tensor);
// And back: the complex tensor whose parts lie along the last axis, of size 2.
Tensor joined_pairs(const Tensor& pairs);

// With the sign of the imaginary parts changed; a real tensor is its own conjugate.
Tensor conjugate(const Tensor& tensor);

// The complex tensor of parts that broadcast to each other, of the dtype that belongs to the wider one.
Tensor complex_of(const Tensor& real, const Tensor& imaginary);

// A function of real tensors that adds and moves elements, applied to a complex one.
template <class F>
Tensor part_by_part(const Tensor& tensor, F f) {
  return complex_of(f(real_part(tensor)), f(imaginary_part(tensor)));
}

// A function of a real tensor that keeps its shape, applied to a complex one as to the numbers that it consists of.
template <class F>
Tensor number_by_number(const Tensor& tensor, F f) {
  return is_complex(tensor.dtype()) ? joined_pairs(f(pairs_of(tensor))) : f(tensor);
}

}  // namespace msrun
