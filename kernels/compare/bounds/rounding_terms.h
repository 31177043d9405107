// What the bound of rounding.h and its screens have in common.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/compare/bounds/rounding.h"
#include "kernels/tensor/tensor.h"

namespace msrun::rounding {

// The dtype of fewer digits: what a device keeps in a wider one than the benchmark has is no nearer to the truth.
DType coarser(const Tensor& bench, const Tensor& device);

// Some thousand elements of a contiguous tensor, evenly spread.
std::vector<double> sampled(const Tensor& tensor);

// What the errors of sums are at most of which so many additions wait for one another, as a share of their size and
// spread.
double sum_factor(double roundoff, std::int64_t chain);

// The power of two at or below the magnitude of a normal number.
inline double binade(double magnitude) {
  constexpr std::uint64_t exponent_bits = 0x7ff0000000000000;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) & exponent_bits);
}

inline float binade(float magnitude) {
  constexpr std::uint32_t exponent_bits = 0x7f800000;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) & exponent_bits);
}

// Units in the last place of a floating dtype, subnormal numbers included: unit_in_last_place() for many elements.
class Units {
 public:
  explicit Units(DType dtype) : precision_(epsilon(dtype)), normal_(smallest_normal(dtype)) {}

  // The value is finite.
  double at(double value) const { return precision_ * binade(std::max(std::abs(value), normal_)); }
  // That of 1.
  double precision() const { return precision_; }

 private:
  double precision_;
  double normal_;
};

}  // namespace msrun::rounding
