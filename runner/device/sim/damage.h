// What faulty hardware does to a tensor when it is stored, or to what is stored there already. Each function takes a
// row-major tensor that has elements and returns one of the same dtype and shape; where it is wrong depends on the name
// of the call alone. Parts of complex tensors are damaged alike unless said otherwise.
#pragma once

#include <string_view>

#include "kernels/tensor/tensor.h"

namespace msrun {
struct SimFault;
}

namespace msrun::damage {

// Elements of a tile, as a vector unit works on 256 bytes of a half type at a time.
inline constexpr std::int64_t tile = 128;

// Elements moved by more than any rounding explains, of complex ones the real part: one, an eighth of them in one
// piece, the last tile, and every fault.every-th of fault.blocks blocks of equal size, the last of which may be shorter
// or missing.
Tensor wrong_element(const Tensor& tensor, const SimFault& fault, std::string_view call);
Tensor wrong_block(const Tensor& tensor, const SimFault& fault, std::string_view call);
Tensor wrong_tail(const Tensor& tensor, const SimFault& fault, std::string_view call);
Tensor wrong_core(const Tensor& tensor, const SimFault& fault, std::string_view call);

// Times fault.factor, rounded to the dtype; times -1.
Tensor scaled(const Tensor& tensor, const SimFault& fault, std::string_view call);
Tensor opposite_sign(const Tensor& tensor, const SimFault& fault, std::string_view call);

// The elements in another order: the last two axes exchanged in memory but not in the shape, which leaves a vector as
// it is, and two neighbouring rows (of a vector: elements) exchanged.
Tensor transposed(const Tensor& tensor, const SimFault& fault, std::string_view call);
Tensor swapped_rows(const Tensor& tensor, const SimFault& fault, std::string_view call);

// The last tile becomes NaN, of complex elements the real part.
Tensor nan_tail(const Tensor& tensor, const SimFault& fault, std::string_view call);

// An eighth of the elements, in one piece, with random bytes.
Tensor uninitialised(const Tensor& tensor, const SimFault& fault, std::string_view call);

}  // namespace msrun::damage
