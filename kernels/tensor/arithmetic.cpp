#include "kernels/tensor/arithmetic.h"

#include <cstdint>

#include "kernels/tensor/tensor.h"

namespace msrun {

Tensor round_to_hf32(const Tensor& tensor) {
  const Tensor source = tensor.contiguous();
  Tensor result(DType::float32, source.shape());
  const auto* from = source.data<std::uint32_t>();
  auto* to = result.mutable_data<std::uint32_t>();
  for (std::int64_t i = 0; i < source.numel(); ++i) {
    const bool finite = (from[i] & 0x7F800000U) != 0x7F800000U;
    to[i] = finite ? (from[i] + 0x800U) & 0xFFFFF000U : from[i];
  }
  return result;
}

}  // namespace msrun
