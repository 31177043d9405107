// Products that are formed without error and rounded where they are stored.
#include "kernels/numeric/stored_products.h"

#include <gtest/gtest.h>

#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/matrix_product.h"
#include "tests/support/gradient_check.h"
#include "tests/support/tensor_values.h"

namespace msrun::testing {
namespace {

Tensor factor(const Dims& shape, std::uint64_t seed) { return uniform(shape, -1, 1, seed).to(DType::float32); }

Tensor exact(const Tensor& a, const Tensor& b) {
  return product(a.to(DType::float64), b.to(DType::float64), DType::float64, {}).to(DType::float32);
}

TEST(StoredProducts, AreRoundedOnce) {
  const Tensor a = factor({7, 300}, 1);
  const Tensor b = factor({300, 5}, 2);
  EXPECT_NE(values(product(a, b, DType::float32, {})), values(exact(a, b)));
  const StoredProducts scope;
  EXPECT_EQ(values(product(a, b, DType::float32, {})), values(exact(a, b)));
}

TEST(StoredProducts, AreSummedOverABatchAsTheyAreStored) {
  const Tensor a = factor({4, 2, 3, 50}, 1);
  const Tensor b = factor({4, 2, 50, 6}, 2);
  const Tensor stored = exact(a, b);
  const StoredProducts scope;
  const std::vector<double> summed = values(product_to(a, b, {2, 3, 6}, DType::float32, {}));
  for (std::size_t i = 0; i < summed.size(); ++i) {
    double total = 0;
    for (std::size_t batch = 0; batch < 4; ++batch) total += values(stored)[batch * summed.size() + i];
    EXPECT_NEAR(summed[i], total, 1e-6) << i;
  }
}

TEST(StoredProducts, AreNoticed) {
  const StoredProducts outer;
  EXPECT_FALSE(outer.any());
  {
    const StoredProducts inner;
    product(factor({2, 3}, 1), factor({3, 2}, 2), DType::float32, {});
    EXPECT_TRUE(inner.any());
  }
  EXPECT_FALSE(outer.any());
}

TEST(StoredProducts, AreNoneWithoutAScope) {
  EXPECT_FALSE(stores_products());
  EXPECT_FALSE(computes_wide());
}

// A sum is none of them, but formed as they are.
TEST(StoredProducts, LetSumsBeRoundedOnce) {
  const Tensor x = factor({3000, 7}, 1);
  for (const Dims& axes : {Dims{0}, Dims{1}, Dims{}}) {
    const std::vector<double> once = values(sum(x.to(DType::float64), axes, false).to(DType::float32));
    const std::vector<double> in_float32 = values(sum(x, axes, false));
    EXPECT_NE(in_float32, once);
    Arithmetic narrow;
    narrow.summation.accumulator = Accumulator::bfloat16;
    const std::vector<double> narrow_sums = values(sum(x, axes, false, narrow));
    const StoredProducts scope;
    EXPECT_EQ(values(sum(x, axes, false)), once);
    EXPECT_EQ(values(sum(x, axes, false, narrow)), narrow_sums);
    EXPECT_FALSE(scope.any());
  }
}

}  // namespace
}  // namespace msrun::testing
