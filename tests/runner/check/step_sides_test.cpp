// Which elements lie on a step but for rounding: those, and none that merely move a lot with the arguments.
#include "runner/judge/step_sides.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "kernels/api/operators.h"

namespace msrun::testing {
namespace {

Tensor tensor(DType dtype, const std::vector<double>& values) {
  return Tensor::from<double>(DType::float64, Dims{std::ssize(values)}, std::span<const double>(values)).to(dtype);
}

std::optional<Tensor> output(const Evaluation& evaluation) { return *evaluation.output.get<Tensor>(); }

// A call of these arguments without gradients.
MaterialisedCall call_of(const std::string& type, const std::string& api, List args) {
  MaterialisedCall call;
  call.name = type + "." + api + ".0";
  call.parts.type = type;
  call.parts.api = api;
  call.args = std::move(args);
  call.requires_grad = std::vector<bool>(call.args.size(), false);
  return call;
}

// A call and its benchmark.
struct Benchmarked {
  explicit Benchmarked(MaterialisedCall of) : call(std::move(of)), op(*find_operator(call.parts.type, call.parts.api)) {
    options.benchmark = true;
    bench = *output(evaluate(op, call, options));
  }

  // For a device that gave `device`.
  std::optional<StepSides> sides(const Tensor& device, Steps steps) const {
    return nearest_sides(op, call, options, bench, device, output, steps);
  }
  std::optional<StepSides> parameters(const Tensor& device) const {
    return nearest_parameters(op, call, options, bench, device, output);
  }

  MaterialisedCall call;
  const Operator& op;
  EvaluationOptions options;
  Tensor bench;
};

// The sides of x % y, both float32, for a device that gave `device`.
StepSides remainder_sides(const std::vector<double>& x, const std::vector<double>& y,
                          const std::vector<double>& device) {
  const Benchmarked call(call_of("Torch", "remainder", {tensor(DType::float32, x), tensor(DType::float32, y)}));
  const auto sides = call.sides(tensor(DType::float32, device), Steps::of_float32);
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
  MaterialisedCall call = call_of("Torch", "round", {tensor(DType::float32, {2.345, 1.25})});
  call.kwargs = {{"decimals", Value(std::int64_t{2})}};
  call.gradients = {tensor(DType::float32, {1, -2})};
  call.requires_grad = {true};
  const Benchmarked round(std::move(call));
  const double other = round.bench.item(0) > 2.345 ? 2.34 : 2.35;
  const auto sides = round.sides(tensor(DType::float32, {other, 1.25}), Steps::of_stored);
  ASSERT_TRUE(sides.has_value());
  EXPECT_EQ(sides->exchanged, 1);
  EXPECT_NEAR(sides->bench.item(0), other, 1e-9);
}

// The benchmark of a call of bfloat16 numbers, and its sides for a device that gave `device`.
std::optional<StepSides> sides_in_half(const std::string& api, const std::vector<double>& x,
                                       const std::vector<double>& y, const std::vector<double>& device, Steps steps) {
  List args{tensor(DType::bfloat16, x)};
  if (!y.empty()) args.emplace_back(tensor(DType::bfloat16, y));
  MaterialisedCall call = call_of("Torch", api, std::move(args));
  if (api == "div") call.kwargs = {{"rounding_mode", Value(std::string("trunc"))}};
  if (api == "round") call.kwargs = {{"decimals", Value(std::int64_t{1})}};
  return Benchmarked(std::move(call)).sides(tensor(DType::bfloat16, device), steps);
}

StepSides half_sides(const std::string& api, const std::vector<double>& x, const std::vector<double>& y,
                     const std::vector<double>& device, Steps steps) {
  const auto sides = sides_in_half(api, x, y, device, steps);
  EXPECT_TRUE(sides.has_value());
  return *sides;
}

// 5.96875 / 0.1533203125 is 38.93, of which bfloat16 makes 39 before it is truncated. 4.8 is no neighbour of 5, and
// two steps are never within rounding.
TEST(StepSides, AreWithinTheHalfTypeThatHoldsWhatIsRounded) {
  const std::vector<double> x{5.96875, 5.96875, 4.8125, 6};
  const std::vector<double> y{0.1533203125, 0.1533203125, 1, 2};
  const std::vector<double> device{39, 40, 5, 2};
  const auto stored = half_sides("div", x, y, device, Steps::of_stored);
  EXPECT_EQ(stored.bench.item(0), 39);
  EXPECT_EQ(stored.bench.item(1), 39);
  EXPECT_EQ(stored.bench.item(2), 4);
  EXPECT_EQ(stored.bench.item(3), 3);
  EXPECT_FALSE(sides_in_half("div", x, y, device, Steps::of_float32).has_value());
}

// -11.9375 * 10 is -119.375, which is -119.5 in bfloat16. 0.84375 * 10 is stored exactly.
TEST(StepSides, AreThoseOfDecimalsInHalfTypes) {
  const auto sides = half_sides("round", {-11.9375, 0.84375}, {}, {-12, 0.9}, Steps::of_stored);
  EXPECT_FLOAT_EQ(static_cast<float>(sides.bench.item(0)), -12);
  EXPECT_FLOAT_EQ(static_cast<float>(sides.bench.item(1)), 0.8F);
}

// -19.25 / -0.158203125 is 121.68, from which two roundoffs lead below 121. 38.47 is too far from 39 for that, and
// 10.9 / 1 has one step beside it.
TEST(StepSides, AreThoseOfADifferenceThatIsStored) {
  const std::vector<double> x{-19.25, 5.8984375, 10.875};
  const std::vector<double> y{-0.158203125, 0.1533203125, 1};
  const std::vector<double> device{120, 39, 12};
  const auto twice = half_sides("floor_divide", x, y, device, Steps::of_stored_difference);
  EXPECT_EQ(twice.bench.item(0), 120);
  EXPECT_EQ(twice.bench.item(1), 38);
  EXPECT_EQ(twice.bench.item(2), 10);
  EXPECT_EQ(half_sides("floor_divide", x, y, device, Steps::of_stored).bench.item(0), 121);
}

// Of a threshold beside bfloat16 some kernels round the number to it, and 0.1 is less than its neighbour there.
TEST(StepSides, AreThoseOfNarrowParameters) {
  const Benchmarked call(call_of("Functional", "hardshrink", {tensor(DType::bfloat16, {0.1, 0.5, 0.05}), 0.1}));
  const auto sides = [&](const std::vector<double>& device) {
    return call.parameters(tensor(DType::bfloat16, device));
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
