// Sums of half types that a processor forms in the half type itself: every addition is rounded to it.
#pragma once

#include <cstdint>

#include "kernels/compare/bounds/constants.h"
#include "kernels/tensor/arithmetic.h"

namespace msrun {

// Processors add rows in vectors, several at a time: so many partial sums side by side.
inline constexpr std::int64_t lanes_of_vectors = Summation::most_lanes;

// Such sums of a half type, in so many partial sums side by side.
constexpr Arithmetic narrow_sums(DType dtype, std::int64_t lanes) {
  const Accumulator accumulator = dtype == DType::float16 ? Accumulator::float16 : Accumulator::bfloat16;
  return {.summation = {.accumulator = accumulator, .lanes = lanes}};
}

}  // namespace msrun
