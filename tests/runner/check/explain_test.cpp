// Which results are said to be explained by rounding, which are not, and which causes are named for those.
#include "runner/judge/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A change of the output, given as float64 values that are rounded to its dtype again.
ComputingDevice::Change output_values(const std::function<void(double*, std::int64_t)>& change) {
  return [change](DeviceResult& result, int) {
    const Tensor& tensor = *result.output.get<Tensor>();
    Tensor wide = tensor.to(DType::float64).clone();
    change(wide.mutable_data<double>(), wide.numel());
    result.output = wide.to(tensor.dtype());
  };
}

// One element of the output is further off by so much.
ComputingDevice::Change one_off(double error) {
  return output_values([=](double* values, std::int64_t count) { values[count / 3] += error; });
}

DetailsRow forward_row(const ApiCall& call, const ComputingDevice::Change& change, const EvaluationOptions& how = {}) {
  const ApiResult result = check(call, change, how);
  EXPECT_EQ(result.forward_rows.size(), 1U) << result.message;
  return result.forward_rows.empty() ? DetailsRow{} : result.forward_rows.front();
}

ApiCall matmul(std::int64_t rows, std::int64_t terms, DType dtype = DType::float32) {
  return call_of("Torch.matmul.0", {{rows, terms}, {terms, rows}}, {rows, rows}, dtype);
}

TEST(Explainer, SoundResultsAreNotBeyondRounding) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    const DetailsRow row = forward_row(matmul(16, 128, dtype), {});
    EXPECT_FALSE(row.beyond_rounding) << row.message;
    EXPECT_THAT(row.message, Not(HasSubstr("Not explained")));
  }
}

TEST(Explainer, APassBeyondTheBoundIsToldAndStaysAPass) {
  const DetailsRow row = forward_row(matmul(16, 128), one_off(5e-4));
  EXPECT_EQ(row.status, Status::pass);
  EXPECT_TRUE(row.beyond_rounding);
  EXPECT_THAT(row.message, HasSubstr("Not explained by rounding: 1 of 256 elements differ"));
  EXPECT_THAT(row.message, HasSubstr("One element of 256 differs"));
}

TEST(Explainer, AnErrorBeyondTheBoundIsNotExplained) {
  const DetailsRow row = forward_row(matmul(16, 128), one_off(1));
  EXPECT_EQ(row.status, Status::error);
  EXPECT_TRUE(row.beyond_rounding);
  EXPECT_FALSE(row.rounding_only);
}

TEST(Explainer, AResultOfOneElementIsLookedAt) {
  const ApiCall call = call_of("Torch.sum.0", {{64}}, {});
  EXPECT_FALSE(forward_row(call, {}).beyond_rounding);
  EXPECT_TRUE(forward_row(call, one_off(5e-4)).beyond_rounding);
}

TEST(Explainer, OperationsAreNotGrantedTheTypicalMagnitude) {
  // The smallest elements of a product of numbers around 0 are far below the typical one.
  const ApiCall call = call_of("Torch.mul.0", {{64, 64}, {64, 64}}, {64, 64});
  const auto smallest_off = output_values([](double* values, std::int64_t count) {
    double* least =
        std::min_element(values, values + count, [](double a, double b) { return std::abs(a) < std::abs(b); });
    *least *= 1 + 1e-4;
  });
  EXPECT_FALSE(forward_row(call, {}).beyond_rounding);
  EXPECT_TRUE(forward_row(call, smallest_off).beyond_rounding);
}

TEST(Explainer, CopiesAreRight) {
  const auto next = output_values([](double* values, std::int64_t) {
    values[5] = static_cast<double>(std::nextafterf(static_cast<float>(values[5]), 0));
  });
  // One of the list of the binary consistency standard, and operators that are not on it and move elements.
  for (const char* name : {"Torch.neg.0", "Tensor.contiguous.0", "Torch.clone.0"}) {
    const ApiCall call = call_of(name, {{8, 8}}, {8, 8});
    EXPECT_FALSE(forward_row(call, {}).beyond_rounding);
    const DetailsRow row = forward_row(call, next);
    EXPECT_EQ(row.status, Status::pass);
    EXPECT_TRUE(row.beyond_rounding) << name << row.message;
  }
}

TEST(Explainer, TruncatedResultsAreNotTheNearestNumbers) {
  EvaluationOptions exact;
  exact.benchmark = true;
  // Truncates every so manyeth element; 0: none.
  const auto rounded = [](std::int64_t every) {
    return [=](DeviceResult& result, int) {
      Tensor values = result.output.get<Tensor>()->to(DType::float32).clone();
      for (std::int64_t i = 0; every > 0 && i < values.numel(); i += every) {
        float& value = values.mutable_data<float>()[i];
        value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xFFFF0000U);
      }
      result.output = values.to(DType::bfloat16);
      for (Value& gradient : result.gradients) gradient = gradient.get<Tensor>()->to(DType::bfloat16);
    };
  };
  const ApiCall call = matmul(32, 64, DType::bfloat16);
  EXPECT_FALSE(forward_row(call, rounded(0), exact).beyond_rounding);
  for (const std::int64_t every : {1, 8}) {
    const DetailsRow row = forward_row(call, rounded(every), exact);
    EXPECT_TRUE(row.beyond_rounding) << every;
    EXPECT_THAT(row.message, HasSubstr("elements are not the nearest number to what sums in float32 can give"));
  }
}

// Too large to be computed again, but for a part of them.
TEST(Explainer, LargeCallsAreLookedAt) {
  const Dims shape{4000001};
  ApiCall call = call_of("Torch.square.0", {shape}, shape, DType::float32, 1, 2);
  call.has_backward = false;
  EXPECT_FALSE(forward_row(call, {}).beyond_rounding);
  EXPECT_TRUE(forward_row(call, one_off(4e-4)).beyond_rounding);
}

// Every place of a running sum depends on all before it, so that no part of the call can be computed: a multiple of the
// bound is granted, and no more.
TEST(Explainer, LargeCallsWithoutPartsAreLookedAt) {
  const Dims shape{4000001};
  ApiCall call = call_of("Torch.cumsum.0", {shape}, shape, DType::float32, 1, 2);
  call.kwargs = {{"dim", Value(std::int64_t{0})}};
  call.has_backward = false;
  EXPECT_FALSE(forward_row(call, {}).beyond_rounding);
  const DetailsRow row = forward_row(call, one_off(1e5));
  EXPECT_EQ(row.status, Status::pass);
  EXPECT_TRUE(row.beyond_rounding);
}

TEST(Explainer, CausesAreNamedWhereComputingSoGivesTheResult) {
  const ApiCall call = matmul(16, 512);
  EvaluationOptions how;
  how.arithmetic.summation.accumulator = Accumulator::float16;
  EXPECT_THAT(forward_row(call, {}, how).message,
              HasSubstr("Errors are those of float16 accumulation: computed so, the call gives this result."));
  how.arithmetic = {};
  how.arithmetic.operands = {OperandRounding::hf32, OperandRounding::hf32};
  EXPECT_THAT(forward_row(call, {}, how).message,
              HasSubstr("Inputs rounded to HF32: computed so, the call gives this result."));
  // Errors as large, of another origin: alternating ones have neither the values nor the spread of these.
  const auto noisy = output_values([](double* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) values[i] += i % 2 == 0 ? 3 : 0;
  });
  EXPECT_THAT(forward_row(call, noisy).message,
              Not(AnyOf(HasSubstr("float16 accumulation"), HasSubstr("HF32"), HasSubstr("Denormals"))));
}

}  // namespace
}  // namespace msrun::testing
