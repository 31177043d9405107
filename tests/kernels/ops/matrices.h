// Matrices that tests of linear algebra take apart.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/numeric/matrix_product.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {

using Values = std::vector<double>;

inline void expect_near(const Values& actual, const Values& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
}

inline Tensor times(const Tensor& a, const Tensor& b) { return product(a, b, DType::float64, {}); }
inline Tensor adjoint(const Tensor& a) { return a.transpose(-1, -2); }

// Random with a dominant diagonal, a batch of two.
inline Tensor regular(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Values data = values(uniform({2, rows, columns}, -1, 1, seed));
  for (std::int64_t m = 0; m < 2; ++m) {
    for (std::int64_t i = 0; i < std::min(rows, columns); ++i) {
      data[static_cast<std::size_t>((m * rows + i) * columns + i)] += 3 + static_cast<double>(i);
    }
  }
  return float64({2, rows, columns}, data);
}

inline Tensor positive_definite(std::uint64_t seed) {
  const Tensor a = regular(3, 3, seed);
  return times(a, adjoint(a));
}

}  // namespace msrun::testing
