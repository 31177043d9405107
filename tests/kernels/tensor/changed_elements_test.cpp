#include "kernels/tensor/changed_elements.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace msrun::testing {
namespace {

TEST(ChangedElements, NamesEveryElementOnceInTheOrderOfRows) {
  const Tensor transposed = Tensor::zeros(DType::bfloat16, Dims{50, 70}).transpose(0, 1);
  std::int64_t next = 0;
  const Tensor changed = changed_elements(transposed, [&](double value, std::int64_t i) {
    EXPECT_EQ(i, next++);
    return value + static_cast<double>(i % 100);
  });
  EXPECT_EQ(next, 3500);
  EXPECT_EQ(changed.dtype(), DType::bfloat16);
  EXPECT_EQ(changed.shape(), (Dims{70, 50}));
  EXPECT_TRUE(changed.is_contiguous());
  EXPECT_EQ(changed.item(1234), 34);
}

TEST(ChangedElements, BlocksBeforeTheLastAreWhole) {
  const Tensor tensor = Tensor::full(DType::float32, Dims{2500}, 3);
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks;
  const Tensor changed = changed_blocks(tensor, [&](double* values, std::int64_t count, std::int64_t first) {
    blocks.emplace_back(first, count);
    for (std::int64_t i = 0; i < count; ++i) values[i] *= 2;
  });
  EXPECT_EQ(blocks, (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 1024}, {1024, 1024}, {2048, 452}}));
  EXPECT_EQ(changed.item(2499), 6);
  EXPECT_EQ(tensor.item(0), 3);
}

}  // namespace
}  // namespace msrun::testing
