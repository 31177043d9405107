// Where an output that rounding does not explain is wrong, and how far its elements are off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/compare/diagnosis/difference_map.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

struct RoundingFit;

// The elements of an output that make it suspicious, in row-major order, and how many these are: those beyond rounding,
// or without such those that are misrounded. Empty if there are none.
const std::vector<bool>& wrong_elements(const RoundingFit& fit);
std::int64_t wrong_count(const RoundingFit& fit);

// How many elements have errors of which size, by powers of two. The first number counts errors of zero, the next ones
// those up to each bound, the last one what is larger or no number: NaN, or infinity, on one side alone, and any error
// relative to zero.
struct ErrorHistogram {
  static constexpr int least_relative = -52;  // exponents of the bounds of relative errors
  static constexpr int most_relative = 4;
  static constexpr int most_ulps = 20;  // those of ULPs begin with 2^0
  static constexpr std::size_t relative_sizes = most_relative - least_relative + 3;
  static constexpr std::size_t ulp_sizes = most_ulps + 3;

  std::vector<std::uint64_t> relative = std::vector<std::uint64_t>(relative_sizes);  // to the benchmark
  std::vector<std::uint64_t> ulps = std::vector<std::uint64_t>(ulp_sizes);           // of the device's dtype
};

// The bound of a number of the histogram: 0 for the first, infinity for the last.
double relative_bound(std::size_t index);
double ulp_bound(std::size_t index);

struct Difference {
  DifferenceMap map;
  ErrorHistogram errors;
  // What rounding explains of a typical element, relative to it; 0: nothing is known of it.
  double explained = 0;
};

// bench and device have equal shapes and are floating; fit is that of the pair.
Difference difference_of(const Tensor& bench, const Tensor& device, const RoundingFit& fit);

}  // namespace msrun
