// Sums of half types that a processor forms in the half type itself: every addition is rounded to it.
#pragma once

#include <cstdint>

#include "kernels/tensor/arithmetic.h"

namespace msrun {

// Processors add rows in vectors, several at a time: so many partial sums side by side.
inline constexpr std::int64_t lanes_of_vectors = Summation::most_lanes;

// Sums that lose more of the result than this stand still.
inline constexpr double most_lost_by_rounding = 1.0 / 24;

// Such sums of a half type, in so many partial sums side by side.
constexpr Arithmetic narrow_sums(DType dtype, std::int64_t lanes) {
  const Accumulator accumulator = dtype == DType::float16 ? Accumulator::float16 : Accumulator::bfloat16;
  return {.summation = {.accumulator = accumulator, .lanes = lanes}};
}

}  // namespace msrun
