// Sums of products whose partial sums are rounded after every addition, several side by side. Included by .cpp files
// only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/tensor/arithmetic.h"

namespace msrun {

// Adds factor(k) * values(k)[i] to sum i, for all k < terms in order; every partial sum is as the accumulator holds it.
// The sums stay in registers, so that W should be some vectors.
template <Accumulator A, std::size_t W, class Factor, class Values>
void add_in_order(std::int64_t terms, const Factor& factor, const Values& values, std::array<float, W>& sums) {
  std::array<float, W> totals = sums;
  for (std::int64_t k = 0; k < terms; ++k) {
    const float times = factor(k);
    const float* row = values(k);
    for (std::size_t i = 0; i < W; ++i) totals[i] = accumulate<A>(totals[i], times * row[i]);
  }
  sums = totals;
}

}  // namespace msrun
