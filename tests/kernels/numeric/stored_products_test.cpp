// Products that are formed without error and rounded where they are stored.
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

EvaluationContext wide(Notes* notes = nullptr) {
  EvaluationContext context;
  context.stored_products = StoredProducts{};
  context.notes = notes;
  return context;
}

TEST(StoredProducts, AreRoundedOnce) {
  const Tensor a = factor({7, 300}, 1);
  const Tensor b = factor({300, 5}, 2);
  EXPECT_NE(values(product(a, b, DType::float32, {})), values(exact(a, b)));
  EXPECT_EQ(values(product(a, b, DType::float32, wide())), values(exact(a, b)));
}

TEST(StoredProducts, AreSummedOverABatchAsTheyAreStored) {
  const Tensor a = factor({4, 2, 3, 50}, 1);
  const Tensor b = factor({4, 2, 50, 6}, 2);
  const Tensor stored = exact(a, b);
  const std::vector<double> summed = values(product_to(a, b, {2, 3, 6}, DType::float32, wide()));
  for (std::size_t i = 0; i < summed.size(); ++i) {
    double total = 0;
    for (std::size_t batch = 0; batch < 4; ++batch) total += values(stored)[batch * summed.size() + i];
    EXPECT_NEAR(summed[i], total, 1e-6) << i;
  }
}

TEST(StoredProducts, AreNoticed) {
  Notes notes;
  const EvaluationContext context = wide(&notes);
  EXPECT_TRUE(context.computes_wide());
  EXPECT_FALSE(notes.has_products);
  product(factor({2, 3}, 1), factor({3, 2}, 2), DType::float32, context);
  EXPECT_TRUE(notes.has_products);
  EXPECT_FALSE(notes.adds_products);
}

TEST(StoredProducts, AreNoneUnlessTheContextSaysSo) {
  Notes notes;
  const EvaluationContext context{.notes = &notes};
  product(factor({2, 3}, 1), factor({3, 2}, 2), DType::float32, context);
  EXPECT_FALSE(context.stores_products());
  EXPECT_FALSE(context.computes_wide());
  EXPECT_FALSE(notes.has_products);
}

// A sum is none of them, but formed as they are.
TEST(StoredProducts, LetSumsBeRoundedOnce) {
  const Tensor x = factor({3000, 7}, 1);
  for (const Dims& axes : {Dims{0}, Dims{1}, Dims{}}) {
    const std::vector<double> once = values(sum(x.to(DType::float64), axes, false, {}).to(DType::float32));
    EXPECT_NE(values(sum(x, axes, false, {})), once);
    EvaluationContext narrow;
    narrow.arithmetic.summation.accumulator = Accumulator::bfloat16;
    const std::vector<double> narrow_sums = values(sum(x, axes, false, narrow));
    Notes notes;
    EXPECT_EQ(values(sum(x, axes, false, wide(&notes))), once);
    narrow.stored_products = StoredProducts{};
    narrow.notes = &notes;
    EXPECT_EQ(values(sum(x, axes, false, narrow)), narrow_sums);
    EXPECT_FALSE(notes.has_products);
  }
}

}  // namespace
}  // namespace msrun::testing
