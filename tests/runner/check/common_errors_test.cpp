// Faults that change every element by one small factor, within the bound of each, and sound devices whose errors have
// something in common.
#include <gmock/gmock.h>

#include <cmath>
#include <utility>
#include <vector>

#include "kernels/compare/bounds/common_error.h"
#include "kernels/evaluate/materialise.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

// The call's output, and its first gradient, times a factor.
ApiResult scaled(const ApiCall& call, double factor) {
  return check(call, [factor](DeviceResult& result, int) {
    scale(result.output, factor);
    if (!result.gradients.empty()) scale(result.gradients.front(), factor);
  });
}

ApiCall with_args(ApiCall call, const List& more) {
  call.args.insert(call.args.begin() + 1, more.begin(), more.end());
  return call;
}

ApiCall layer_norm(DType dtype, std::int64_t rows, std::int64_t width, double low = -2, double high = 2) {
  ApiCall call = with_args(call_of("Functional.layer_norm.0", {{rows, width}}, {rows, width}, dtype, low, high),
                           {List{Value(width)}});
  return call;
}

std::vector<ApiCall> calls_of_bfloat16() {
  constexpr DType dtype = DType::bfloat16;
  ApiCall attention =
      call_of("Functional.scaled_dot_product_attention.0", {{2, 64, 32}, {2, 64, 32}, {2, 64, 32}}, {2, 64, 32}, dtype);
  return {call_of("Torch.mul.0", {{64, 96}, {64, 96}}, {64, 96}, dtype),
          call_of("Functional.linear.0", {{64, 96}, {80, 96}, {80}}, {64, 80}, dtype),
          call_of("Functional.gelu.0", {{64, 96}}, {64, 96}, dtype, -6, 6),
          call_of("Functional.silu.0", {{64, 96}}, {64, 96}, dtype),
          layer_norm(dtype, 64, 96),
          std::move(attention)};
}

// 1.005 is less than one place of bfloat16, and moves most elements to the next.
TEST(CommonErrors, OfBfloat16AreFoundWithinOnePlace) {
  for (const ApiCall& call : calls_of_bfloat16()) {
    const ApiResult sound = scaled(call, 1);
    EXPECT_FALSE(sound.forward_rows.at(0).beyond_rounding) << described(sound);
    EXPECT_FALSE(sound.backward_rows.at(0).beyond_rounding) << described(sound);
    const ApiResult off = scaled(call, 1.005);
    EXPECT_TRUE(off.forward_rows.at(0).beyond_rounding) << described(off);
    EXPECT_TRUE(off.backward_rows.at(0).beyond_rounding) << described(off);
    EXPECT_THAT(off.forward_rows.at(0).message, HasSubstr("Not explained by rounding: ")) << call.name;
  }
}

// Truncation makes all elements smaller, by less than a rounding.
TEST(CommonErrors, OfTruncatedResultsAreRoundings) {
  EvaluationOptions how;
  how.arithmetic.rounds_to_zero = true;
  for (const ApiCall& call :
       {call_of("Torch.mul.0", {{64, 96}, {64, 96}}, {64, 96}, DType::bfloat16), layer_norm(DType::bfloat16, 64, 96)}) {
    const ApiResult result = check(call, {}, how);
    EXPECT_FALSE(result.forward_rows.at(0).beyond_rounding) << described(result);
  }
}

// An epsilon of 1e-5 beside a variance of 1 changes all elements by half of that.
TEST(CommonErrors, OfFloat32AreFoundWithinTheBoundOfSums) {
  const ApiCall call = layer_norm(DType::float32, 64, 768);
  EXPECT_FALSE(scaled(call, 1).forward_rows.at(0).beyond_rounding);
  EXPECT_TRUE(scaled(call, 1 + 5e-6).forward_rows.at(0).beyond_rounding);
}

// The gradient of a mean over many elements is formed without a sum.
TEST(CommonErrors, OfTheGradientOfALossAreFound) {
  const ApiCall call = call_of("Functional.mse_loss.0", {{256, 256}, {256, 256}}, {});
  EXPECT_FALSE(scaled(call, 1).backward_rows.at(0).beyond_rounding);
  EXPECT_TRUE(scaled(call, 1.00005).backward_rows.at(0).beyond_rounding);
}

// The mean of squares less the square of the mean: each row's elements err together, by more than the rows have in
// common.
TEST(CommonErrors, OfAVarianceInOnePassAreThoseOfARow) {
  for (const double middle : {0.0, 3.0, 10.0}) {
    const ApiCall call = layer_norm(DType::float32, 32, 768, middle - 2, middle + 2);
    const MaterialisedCall inputs = materialise(call, {});
    const Tensor x = inputs.args.front().get<Tensor>()->contiguous();
    Tensor y = x.clone();
    for (std::int64_t row = 0; row < 32; ++row) {
      float sum = 0;
      float squares = 0;
      const float* from = x.data<float>() + row * 768;
      for (std::int64_t i = 0; i < 768; ++i) {
        sum += from[i];
        squares += from[i] * from[i];
      }
      const float mean = sum / 768;
      const float rstd = 1 / std::sqrt(squares / 768 - mean * mean + 1e-5F);
      for (std::int64_t i = 0; i < 768; ++i) y.mutable_data<float>()[row * 768 + i] = (from[i] - mean) * rstd;
    }
    const ApiResult result = check(call, [&](DeviceResult& device, int) { device.output = y; });
    EXPECT_FALSE(result.forward_rows.at(0).beyond_rounding) << middle << described(result);
  }
}

Tensor alternating(const Dims& shape, double (*of)(std::int64_t)) {
  Tensor result(DType::float64, shape);
  for (std::int64_t i = 0; i < result.numel(); ++i) result.mutable_data<double>()[i] = of(i);
  return result;
}

TEST(CommonError, IsTheFactorThatFitsAllElements) {
  const Tensor exact = alternating({32, 16}, [](std::int64_t i) { return 1.0 + static_cast<double>(i % 7); });
  const Tensor larger = changed_elements(exact, [](double value, std::int64_t) { return value * 1.25; });
  const CommonError found = common_error(exact, larger, 512);
  EXPECT_NEAR(found.factor, 0.25, 1e-12);
  EXPECT_LT(found.deviation, 0.02);
  EXPECT_TRUE(may_have_common_error(exact, larger, 0.2));
  EXPECT_FALSE(may_have_common_error(exact, exact, 0.2));
}

// Channels that err apart from each other tell of chance, and of few statistics nothing can be told.
TEST(CommonError, OfGroupsThatErrApartIsChance) {
  const Tensor exact = alternating({4, 32, 8}, [](std::int64_t) { return 1.0; });
  const Tensor apart =
      changed_elements(exact, [](double value, std::int64_t i) { return value + (i / 8 % 32 < 20 ? 0.1 : -0.1); });
  const CommonError found = common_error(exact, apart, 1024);
  EXPECT_NEAR(found.factor, 0.025, 1e-12);
  EXPECT_GT(found.deviation, 0.015);
  EXPECT_TRUE(std::isinf(common_error(exact, apart, 7).deviation));
}

}  // namespace
}  // namespace msrun::testing
