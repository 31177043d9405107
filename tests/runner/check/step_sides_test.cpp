// Which elements lie on a step but for rounding: those, and none that merely move a lot with the arguments.
#include "runner/check/step_sides.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/api/operators.h"

namespace msrun::testing {
namespace {

Tensor tensor(DType dtype, const std::vector<double>& values) {
  return Tensor::from<double>(DType::float64, Dims{std::ssize(values)}, std::span<const double>(values)).to(dtype);
}

// The sides of x % y, both float32, for a device that gave `device`.
StepSides remainder_sides(const std::vector<double>& x, const std::vector<double>& y,
                          const std::vector<double>& device) {
  MaterialisedCall call;
  call.name = "Torch.remainder.0";
  call.parts.type = "Torch";
  call.parts.api = "remainder";
  call.args = {tensor(DType::float32, x), tensor(DType::float32, y)};
  call.requires_grad = {false, false};
  const Operator& op = *find_operator("Torch", "remainder");
  EvaluationOptions benchmark;
  benchmark.benchmark = true;
  const RowOf output = [](const Evaluation& evaluation) {
    return std::optional<Tensor>(*evaluation.output.get<Tensor>());
  };
  const Tensor bench = *output(evaluate(op, call, benchmark));
  const auto sides = nearest_sides(op, call, benchmark, bench, tensor(DType::float32, device), output);
  EXPECT_TRUE(sides.has_value());
  return *sides;
}

// A remainder moves by as much as x does: a ten-thousandth for a float32 place of 1001.
TEST(StepSides, AreNoneWhereResultsMoveWithTheArguments) {
  const std::vector<double> x{1001, -2000.5, 700.25};
  const std::vector<double> y{3, 7, 11};
  std::vector<double> device;
  for (std::size_t i = 0; i < x.size(); ++i) device.push_back(x[i] - std::floor(x[i] / y[i]) * y[i] + 1e-4);
  EXPECT_EQ(remainder_sides(x, y, device).exchanged, 0);
}

// 1 / 0.1 is a little below 10 for the float32 nearest to 0.1, so that the remainder is nearly 0.1; a quotient that is
// rounded to 10 gives about 0. 9 / 3 is 3 in every arithmetic.
TEST(StepSides, AreThoseWithinRounding) {
  const auto sides = remainder_sides({1, 9}, {0.1, 3}, {0, 3});
  EXPECT_EQ(sides.exchanged, 1);
  EXPECT_LT(std::abs(sides.bench.data<double>()[0]), 1e-6);
  EXPECT_EQ(sides.bench.data<double>()[1], 0);
}

// 2.345 * 100 is 234.49999999999997 in float64 and 234.5 in float32, also in a call with a gradient.
TEST(StepSides, AreThoseOfCallsWithGradientsToo) {
  MaterialisedCall call;
  call.name = "Torch.round.0";
  call.parts.type = "Torch";
  call.parts.api = "round";
  call.args = {tensor(DType::float32, {2.345, 1.25})};
  call.kwargs = {{"decimals", Value(std::int64_t{2})}};
  call.gradients = {tensor(DType::float32, {1, -2})};
  call.requires_grad = {true};
  const Operator& op = *find_operator("Torch", "round");
  EvaluationOptions benchmark;
  benchmark.benchmark = true;
  const RowOf output = [](const Evaluation& evaluation) {
    return std::optional<Tensor>(*evaluation.output.get<Tensor>());
  };
  const Tensor bench = *output(evaluate(op, call, benchmark));
  const double other = bench.item(0) > 2.345 ? 2.34 : 2.35;
  const auto sides = nearest_sides(op, call, benchmark, bench, tensor(DType::float32, {other, 1.25}), output);
  ASSERT_TRUE(sides.has_value());
  EXPECT_EQ(sides->exchanged, 1);
  EXPECT_NEAR(sides->bench.item(0), other, 1e-9);
}

// Of a threshold beside bfloat16 some kernels round the number to it, and 0.1 is less than its neighbour there.
TEST(StepSides, AreThoseOfNarrowParameters) {
  MaterialisedCall call;
  call.name = "Functional.hardshrink.0";
  call.parts.type = "Functional";
  call.parts.api = "hardshrink";
  call.args = {tensor(DType::bfloat16, {0.1, 0.5, 0.05}), 0.1};
  call.requires_grad = {false};
  const Operator& op = *find_operator("Functional", "hardshrink");
  EvaluationOptions benchmark;
  benchmark.benchmark = true;
  const RowOf output = [](const Evaluation& evaluation) {
    return std::optional<Tensor>(*evaluation.output.get<Tensor>());
  };
  const Tensor bench = *output(evaluate(op, call, benchmark));
  const auto sides = [&](const std::vector<double>& device) {
    return nearest_parameters(op, call, benchmark, bench, tensor(DType::bfloat16, device), output);
  };
  EXPECT_FALSE(sides({0.1, 0.5, 0}).has_value());
  EXPECT_FALSE(sides({0.1, 0, 0.05}).has_value());
  const auto narrow = sides({0, 0, 0});
  ASSERT_TRUE(narrow.has_value());
  EXPECT_EQ(narrow->exchanged, 1);
  EXPECT_EQ(narrow->bench.data<float>()[0], 0);
  EXPECT_EQ(narrow->bench.data<float>()[1], 0.5F);
}

}  // namespace
}  // namespace msrun::testing
