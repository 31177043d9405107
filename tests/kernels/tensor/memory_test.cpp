#include "kernels/tensor/memory.h"

#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "kernels/tensor/tensor.h"

namespace msrun {
namespace {

TEST(TensorMemory, IsLimitedWithinAScope) {
  const TensorMemoryScope scope(1 << 20);
  const Tensor half(DType::float32, {100'000});
  EXPECT_THROW(Tensor(DType::float32, {200'000}), SkipError);
  EXPECT_TRUE(scope.exceeded());
  const Tensor rest(DType::float32, {150'000});
  EXPECT_THROW(half.clone(), SkipError);
}

TEST(TensorMemory, IsGivenBackWithTheLastView) {
  const TensorMemoryScope scope(1 << 20);
  for (int i = 0; i < 10; ++i) {
    Tensor view;
    {
      const Tensor whole(DType::float32, {200'000});
      view = whole.slice(0, 0, 10);
    }
    EXPECT_THROW(Tensor(DType::float32, {200'000}), SkipError);
  }
  EXPECT_NO_THROW(Tensor(DType::float32, {200'000}));
}

TEST(TensorMemory, IsCheckedWithoutBeingTaken) {
  const TensorMemoryScope scope(1 << 20);
  EXPECT_NO_THROW(check_tensor_memory(1 << 20));
  EXPECT_FALSE(scope.exceeded());
  EXPECT_THROW(check_tensor_memory((1 << 20) + 1), SkipError);
  // Products that 64 bits do not hold, and bytes that a signed number does not.
  EXPECT_THROW(check_tensor_memory(std::size_t{1} << 61, 8), SkipError);
  EXPECT_THROW(check_tensor_memory(~std::size_t{0}), SkipError);
  EXPECT_TRUE(scope.exceeded());
}

TEST(TensorMemory, BoundsTheOtherSizesOfAnEmptyTensor) {
  const TensorMemoryScope scope(1 << 20);
  EXPECT_NO_THROW(Tensor(DType::float32, {1000, 0, 1000}));
  EXPECT_THROW(Tensor(DType::float32, {std::int64_t{1} << 40, 0}), SkipError);
  const Tensor empty(DType::float32, {1, 0});
  const Dims wide{std::int64_t{1} << 40, 0};
  EXPECT_THROW(empty.expand(wide), SkipError);
}

TEST(TensorMemory, IsNotLimitedOutside) {
  { const TensorMemoryScope scope(1); }
  EXPECT_NO_THROW(Tensor(DType::float32, {1'000'000}));
  EXPECT_NO_THROW(check_tensor_memory(std::size_t{1} << 40));
}

}  // namespace
}  // namespace msrun
