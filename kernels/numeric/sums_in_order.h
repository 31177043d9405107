// Sums whose partial sums are rounded after every addition. Included by .cpp files only.
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

// f(0) + ... + f(count - 1), in the order and in as many partial sums as the summation says; every one of them is as
// the accumulator holds it.
template <Accumulator A, class F>
float sum_in_order(std::int64_t count, const Summation& summation, const F& f) {
  const auto term = [&](std::int64_t i) { return f(summation.backwards ? count - 1 - i : i); };
  const std::int64_t lanes = summation.lanes;
  std::array<float, Summation::most_lanes> totals{};
  std::int64_t i = 0;
  if (lanes > 1) {
    for (; i + lanes <= count; i += lanes) {
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        float& total = totals[static_cast<std::size_t>(lane)];
        total = accumulate<A>(total, term(i + lane));
      }
    }
  }
  float sum = totals[0];
  for (std::size_t lane = 1; lane < static_cast<std::size_t>(lanes); ++lane) sum = accumulate<A>(sum, totals[lane]);
  for (; i < count; ++i) sum = accumulate<A>(sum, term(i));
  return sum;
}

}  // namespace msrun
