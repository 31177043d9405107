// Which order of axes brings one tensor nearest to another.
#include "runner/check/layout.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

namespace msrun::testing {
namespace {

Tensor counted(const Dims& shape) {
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), 1);
  return Tensor::from<double>(DType::float64, shape, std::span<const double>(values));
}

TEST(Layout, KeepsTheOrderUnlessAsked) {
  const Tensor tensor = counted({2, 3});
  const Tensor other = tensor.transpose(0, 1).contiguous();
  const Layout layout = nearest_layout(tensor, other, false);
  EXPECT_EQ(layout.axes, (Dims{0, 1}));
  EXPECT_EQ(layout.of(tensor).shape(), (Dims{3, 2}));
  EXPECT_FALSE(bitwise_equal(layout.of(tensor).contiguous(), other));
}

TEST(Layout, FindsPermutationsAndShapes) {
  const Tensor tensor = counted({2, 1, 3, 4});
  const Tensor other = tensor.permute(Dims{3, 1, 0, 2}).contiguous().reshape(Dims{4, 6, 1});
  const Layout layout = nearest_layout(tensor, other, true);
  EXPECT_TRUE(bitwise_equal(layout.of(tensor).contiguous(), other));
}

// The bytes of a transposed matrix in the shape of the matrix are wrong.
TEST(Layout, TakesNoOrderOfAnotherShape) {
  const Tensor tensor = counted({3, 4});
  const Tensor other = tensor.transpose(0, 1).contiguous().reshape(Dims{3, 4});
  EXPECT_EQ(nearest_layout(tensor, other, true).axes, (Dims{0, 1}));
  const Tensor merged = counted({2, 6, 2});
  const Tensor rows = merged.permute(Dims{2, 0, 1}).contiguous().reshape(Dims{4, 6});
  EXPECT_TRUE(bitwise_equal(nearest_layout(merged, rows, true).of(merged).contiguous(), rows));
  const Tensor torn = merged.permute(Dims{1, 0, 2}).contiguous().reshape(Dims{4, 6});
  EXPECT_FALSE(bitwise_equal(nearest_layout(merged, torn, true).of(merged).contiguous(), torn));
}

TEST(Layout, KeepsTheOrderWhereAllAreAsNear) {
  const Tensor tensor = Tensor::full(DType::float64, Dims{3, 3}, 2);
  EXPECT_EQ(nearest_layout(tensor, tensor, true).axes, (Dims{0, 1}));
  EXPECT_EQ(nearest_layout(tensor, Tensor::full(DType::float64, Dims{3, 3}, 5), true).axes, (Dims{0, 1}));
}

TEST(Layout, TakesNaNForNaN) {
  Tensor tensor = counted({2, 2}).clone();
  tensor.mutable_data<double>()[1] = std::numeric_limits<double>::quiet_NaN();
  const Tensor other = tensor.transpose(0, 1).contiguous();
  EXPECT_EQ(nearest_layout(tensor, other, true).axes, (Dims{1, 0}));
}

}  // namespace
}  // namespace msrun::testing
