#include "kernels/numeric/selection.h"
#include "kernels/numeric/evaluation_context.h"

#include <gtest/gtest.h>

#include "kernels/tensor/memory.h"
#include "kernels/tensor/random.h"

namespace msrun {
namespace {

Tensor random(DType dtype, const Dims& shape, std::uint64_t key) {
  Philox words(key);
  return random_tensor(dtype, shape, {-3, 2, {}, {}}, words);
}

Tensor indices(std::int64_t count, std::int64_t below) {
  Tensor result(DType::int64, {count});
  for (std::int64_t i = 0; i < count; ++i) result.mutable_data<std::int64_t>()[i] = i * i * 7 % below;
  return result;
}

// Few rows are summed beside the result, many in a wide copy of it: the bits are those of a wide sum rounded once.
TEST(TakeVjp, RoundsTheSumsOfRowsOnce) {
  const Dims shape{50, 24};
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    for (const std::int64_t count : {0, 1, 20, 500}) {
      const Selection rows = slices_selection(shape, 0, indices(count, 11), false);
      const Tensor gradient = random(dtype, Dims{count, 24}, 7);
      const DType wide = dtype == DType::float64 ? dtype : DType::float32;
      const Tensor expected = put_sum(Tensor::zeros(wide, shape), rows, gradient, 1, {}).to(dtype);
      EXPECT_TRUE(bitwise_equal(take_vjp(gradient, shape, rows, {}), expected)) << name(dtype) << " " << count;
      EXPECT_TRUE(bitwise_equal(take_vjp(gradient.to(wide), shape, rows, {}, dtype), expected));
    }
  }
}

// Runs that overlap are no rows.
TEST(TakeVjp, AddsUpRunsThatOverlap) {
  const Tensor source = Tensor::zeros(DType::bfloat16, Dims{400});
  const Tensor windows = source.with_strides(Dims{4, 20}, Dims{7, 1}, 3);
  const Selection selection = view_selection(source, windows);
  const Tensor gradient = random(DType::bfloat16, windows.shape(), 8);
  const Tensor expected =
      put_sum(Tensor::zeros(DType::float32, source.shape()), selection, gradient, 1, {}).to(DType::bfloat16);
  EXPECT_TRUE(bitwise_equal(take_vjp(gradient, source.shape(), selection, {}), expected));
}

TEST(TakeVjp, NeedsNoWideCopyForFewRows) {
  const Dims shape{4000, 64};
  const Selection rows = slices_selection(shape, 0, indices(10, 4000), false);
  const Tensor gradient = random(DType::bfloat16, Dims{10, 64}, 9);
  const TensorMemoryScope scope(1 << 30);
  const Tensor result = take_vjp(gradient, shape, rows, {});
  EXPECT_LE(scope.peak(), result.bytes() + 16 * 1024);
}

TEST(MostAtOnePlace, CountsTheRunsOfEachRow) {
  Selection selection;
  EXPECT_EQ(most_at_one_place(selection, 6), 0);
  selection.starts = {4, 0, 4, 2, 4};
  EXPECT_EQ(most_at_one_place(selection, 6), 3);
  // Few of many places.
  EXPECT_EQ(most_at_one_place(selection, 600), 3);
  selection.run = 2;
  EXPECT_EQ(most_at_one_place(selection, 6), 3);
  EXPECT_EQ(most_at_one_place(selection, 600), 3);
  selection.starts = {4, 0, 3};
  EXPECT_EQ(most_at_one_place(selection, 6), 3);
}

}  // namespace
}  // namespace msrun
