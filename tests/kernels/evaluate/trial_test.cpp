// What is tried before a device has a call: how far that goes, and what it refuses.
#include "kernels/evaluate/trial.h"

#include <gtest/gtest.h>

#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/tensor/memory.h"

namespace msrun {
namespace {

void try_now(const char* type, const char* api, List args) {
  MaterialisedCall call;
  call.args = std::move(args);
  const Operator* op = find_operator(type, api);
  ASSERT_NE(op, nullptr) << api;
  try_call(*op, call);
}

TEST(Trial, EveryLineNamesAnOperator) {
  EXPECT_EQ(trial_of(*find_canonical("ctc_loss")), Trial::of_values);
  EXPECT_EQ(trial_of(*find_canonical("expand")), Trial::of_sizes);
  EXPECT_EQ(trial_of(*find_canonical("relu")), std::nullopt);
}

TEST(Trial, RefusesWhatIsLargerThanTheMemory) {
  const TensorMemoryScope scope(std::uint64_t{64} << 20);
  const std::int64_t size = 1 << 14;
  const Tensor line(DType::float32, {size});
  EXPECT_THROW(try_now("Torch", "outer", {line, line}), SkipError);
  // A view takes its memory only from whoever copies it.
  EXPECT_THROW(try_now("Tensor", "expand", {Tensor(DType::float32, {1}), std::int64_t{1} << 30}), SkipError);
  EXPECT_TRUE(scope.exceeded());
}

TEST(Trial, MakesNoLargeTensorThatTheMemoryAllows) {
  const TensorMemoryScope scope(std::uint64_t{8} << 30);
  const Tensor line(DType::float32, {1 << 14});
  try_now("Torch", "outer", {line, line});
  EXPECT_LT(scope.peak(), std::uint64_t{1} << 20);
  EXPECT_FALSE(scope.exceeded());
}

TEST(Trial, OfValuesGoesToTheEnd) {
  const Tensor factors = Tensor::full(DType::float32, Dims{3, 3}, 1);
  const Tensor right = Tensor::full(DType::float32, Dims{3, 1}, 1);
  const auto pivots = [](std::int64_t value) {
    return Tensor::full(DType::int32, Dims{3}, static_cast<double>(value));
  };
  EXPECT_THROW(try_now("Torch", "linalg.ldl_solve", {factors, pivots(4), right}), SkipError);
  try_now("Torch", "linalg.ldl_solve", {factors, pivots(3), right});
}

// A tensor beyond the limit of a trial is none of the calls that follow.
TEST(Trial, LeavesNoLimitBehind) {
  const TensorMemoryScope scope(std::uint64_t{1} << 30);
  const Tensor line(DType::float32, {1 << 12});
  try_now("Torch", "outer", {line, line});
  EXPECT_EQ(Tensor(DType::float32, {1 << 22}).numel(), 1 << 22);
}

}  // namespace
}  // namespace msrun
