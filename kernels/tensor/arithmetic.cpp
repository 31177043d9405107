#include "kernels/tensor/arithmetic.h"

#include <cstdint>

#include "kernels/tensor/tensor.h"

namespace msrun {

Tensor round_operand(const Tensor& tensor, OperandRounding rounding) {
  const int dropped = fraction_bits(OperandRounding::none) - fraction_bits(rounding);
  const std::uint32_t kept = ~((1U << dropped) - 1U);
  const bool cuts = dropped == 0 || rounding == OperandRounding::truncated_tf32;
  const std::uint32_t half = cuts ? 0U : 1U << (dropped - 1);
  const Tensor source = tensor.contiguous();
  Tensor result(DType::float32, source.shape());
  const auto* from = source.data<std::uint32_t>();
  auto* to = result.mutable_data<std::uint32_t>();
  for (std::int64_t i = 0; i < source.numel(); ++i) {
    const bool finite = (from[i] & 0x7F800000U) != 0x7F800000U;
    to[i] = finite ? (from[i] + half) & kept : from[i];
  }
  return result;
}

}  // namespace msrun
