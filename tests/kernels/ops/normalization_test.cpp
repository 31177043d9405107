// Layer, group, batch, instance and rms norm: values against the definition, worked values, gradients, half precision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

// (x - mean) / sqrt(variance + epsilon) of a run of values.
std::vector<double> normalised(std::vector<double> x, double epsilon) {
  double mean = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  double variance = 0;
  for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
  for (double& v : x) v = (v - mean) / std::sqrt(variance + epsilon);
  return x;
}

TEST(LayerNorm, MatchesTheDefinition) {
  const std::vector<double> row{1, 2, 4, 9};
  const std::vector<double> xhat = normalised(row, 1e-5);
  const Tensor weight = float64({4}, {1, 2, 3, 4});
  const Tensor bias = float64({4}, {10, 20, 30, 40});
  std::vector<double> expected;
  for (std::size_t i = 0; i < 4; ++i)
    expected.push_back(xhat[i] * static_cast<double>(i + 1) + 10 * static_cast<double>(i + 1));
  EXPECT_THAT(forward("Functional", "layer_norm", {float64({1, 4}, row), List{std::int64_t{4}}, weight, bias}),
              Pointwise(DoubleNear(1e-13), expected));
  EXPECT_THAT(forward("Torch", "layer_norm",
                      {float64({1, 2, 2}, row), List{std::int64_t{2}, std::int64_t{2}}, None{}, None{}, 1e-5, true}),
              Pointwise(DoubleNear(1e-13), xhat));
}

TEST(LayerNorm, Gradients) {
  const Tensor x = uniform({2, 3, 5}, -2, 2, 1);
  const Tensor weight = uniform({5}, -1, 1, 2);
  const Tensor bias = uniform({5}, -1, 1, 3);
  const List shape{std::int64_t{5}};
  check_gradients("Functional", "layer_norm", {x, shape, weight, bias});
  check_gradients("Functional", "layer_norm", {x, shape});
  check_gradients("Functional", "layer_norm", {x, shape}, {{"weight", weight}});
  check_gradients("Functional", "layer_norm", {x, shape}, {{"bias", bias}});
  check_gradients("Functional", "layer_norm",
                  {x.transpose(0, 1), List{std::int64_t{2}, std::int64_t{5}}, uniform({2, 5}, -1, 1, 4),
                   uniform({2, 5}, -1, 1, 5)});
  check_gradients("Functional", "rms_norm", {x, shape, weight, 1e-6});
  check_gradients("Functional", "rms_norm", {x, shape});
}

TEST(LayerNorm, LongRowsKeepTheirPrecision) {
  // A mean that is large against the spread: one pass over squares would lose every digit in float32.
  const Tensor x = uniform({1, 4099}, 1000, 1001, 1).to(DType::float32);
  const std::vector<double> y = forward("Functional", "layer_norm", {x, List{std::int64_t{4099}}});
  const std::vector<double> expected = normalised(values(x), 1e-5);
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected[i], 1e-3);
}

TEST(LayerNorm, HalfRoundsOnceAndTakesFloatParameters) {
  const Tensor x = uniform({3, 8}, -2, 2, 1).to(DType::bfloat16);
  const Tensor weight = uniform({8}, -1, 1, 2).to(DType::float32);
  Tape tape;
  std::vector<Var> leaves;
  const List shape{std::int64_t{8}};
  const Tensor y = call("Functional", "layer_norm", {x, shape, weight}, {}, tape, leaves).tensor();
  ASSERT_EQ(y.dtype(), DType::bfloat16);
  const Tensor wide =
      call("Functional", "layer_norm", {x.to(DType::float32), shape, weight}, {}, tape, leaves).tensor();
  EXPECT_EQ(values(y), values(wide.to(DType::bfloat16)));
}

TEST(LayerNorm, NativeFormGivesStatistics) {
  const Tensor x = float64({2, 2}, {1, 3, 2, 10});
  const List args{x, List{std::int64_t{2}}, None{}, None{}, 0.0};
  EXPECT_THAT(forward("Torch", "native_layer_norm", args), ElementsAre(-1, 1, -1, 1));
  EXPECT_THAT(forward("Torch", "native_layer_norm", args, {}, 1), ElementsAre(2, 6));
  EXPECT_THAT(forward("Torch", "native_layer_norm", args, {}, 2), ElementsAre(1, 0.25));
  Tape tape;
  std::vector<Var> leaves;
  EXPECT_EQ(call("Torch", "native_layer_norm", args, {}, tape, leaves, 1).shape(), (Dims{2, 1}));
}

TEST(RmsNorm, MatchesTheDefinition) {
  const Tensor x = float64({1, 2}, {3, 4});
  const Tensor weight = float64({2}, {1, 10});
  const double r = 1 / std::sqrt(12.5 + 0.5);
  EXPECT_THAT(forward("Functional", "rms_norm", {x, List{std::int64_t{2}}, weight, 0.5}),
              Pointwise(DoubleNear(1e-15), {3 * r, 40 * r}));
  // Without epsilon that of the dtype: 2^-7 for bfloat16.
  const Tensor half = Tensor::full(DType::bfloat16, Dims{1, 2}, 0.0625);
  const double expected = 0.0625 / std::sqrt(0.0625 * 0.0625 + 0.0078125);
  EXPECT_NEAR(forward("Functional", "rms_norm", {half, List{std::int64_t{2}}})[0], expected, 0.004);
}

TEST(GroupNorm, MatchesTheDefinition) {
  const Tensor x = uniform({2, 4, 3}, -2, 2, 1);
  const std::vector<double> y = forward("Functional", "group_norm",
                                        {x, std::int64_t{2}, float64({4}, {1, 2, 3, 4}), float64({4}, {0, 0, 0, 100})});
  const std::vector<double> all = values(x);
  const std::vector<double> xhat =
      normalised({all.begin() + 18, all.end()}, 1e-5);  // sample 1, group 1: channels 2 and 3
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(y[18 + i], xhat[i] * 3, 1e-13);
    EXPECT_NEAR(y[21 + i], xhat[3 + i] * 4 + 100, 1e-13);
  }
}

TEST(GroupNorm, Gradients) {
  const Tensor weight = uniform({4}, -1, 1, 2);
  const Tensor bias = uniform({4}, -1, 1, 3);
  check_gradients("Functional", "group_norm", {uniform({2, 4, 2, 3}, -2, 2, 1), std::int64_t{2}, weight, bias, 1e-5});
  check_gradients("Torch", "group_norm", {uniform({3, 4}, -2, 2, 1), std::int64_t{1}, weight, bias, 1e-5, true});
  check_gradients("Torch", "native_group_norm",
                  {uniform({2, 4, 3}, -2, 2, 1), weight, bias, std::int64_t{2}, std::int64_t{4}, std::int64_t{3},
                   std::int64_t{2}, 1e-5});
}

// As torch does, unlike through those of layer norm and batch norm.
TEST(GroupNorm, GradientsOfStatistics) {
  for (const std::size_t output : {std::size_t{1}, std::size_t{2}}) {
    check_gradients("Torch", "native_group_norm",
                    {uniform({2, 4, 3}, -2, 2, 1), None{}, None{}, std::int64_t{2}, std::int64_t{4}, std::int64_t{3},
                     std::int64_t{2}, 1e-5},
                    {}, output);
  }
}

TEST(BatchNorm, WorkedValues) {
  const Tensor x = float64({3, 1}, {1, 2, 4});
  const Tensor mean = float64({1}, {0});
  const Tensor variance = float64({1}, {1});
  EXPECT_THAT(forward("Functional", "batch_norm", {x, mean, variance, None{}, None{}, true, 0.1, 1e-5}),
              Pointwise(DoubleNear(1e-14), {-1.0690415314502977, -0.2672603828625746, 1.3363019143128716}));
  const List args{x, None{}, None{}, mean, variance, true, 0.1, 1e-5};
  EXPECT_THAT(forward("Aten", "_native_batch_norm_legit_functional", args, {}, 3),
              ElementsAre(DoubleNear(0.23333333333333336, 1e-14)));
  EXPECT_THAT(forward("Aten", "_native_batch_norm_legit_functional", args, {}, 4),
              ElementsAre(DoubleNear(1.1333333333333333, 1e-14)));
  EXPECT_THAT(forward("Torch", "native_batch_norm", args, {}, 1), ElementsAre(DoubleNear(7.0 / 3, 1e-14)));
  // _native_batch_norm_legit.no_stats
  const List without{x, None{}, None{}, true, 0.1, 1e-5};
  for (const std::size_t output : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    EXPECT_EQ(forward("Aten", "_native_batch_norm_legit", without, {}, output),
              forward("Aten", "_native_batch_norm_legit", args, {}, output));
  }
  const List evaluation{x, None{}, None{}, mean, variance, 0.1, 1e-5};
  EXPECT_EQ(forward("Aten", "_native_batch_norm_legit_no_training", evaluation),
            forward("Functional", "batch_norm", {x, mean, variance}));
  EXPECT_TRUE(forward("Aten", "_native_batch_norm_legit_no_training", evaluation, {}, 1).empty());
}

TEST(BatchNorm, EvaluationUsesTheRunningStatistics) {
  const Tensor x = float64({2, 2, 1}, {1, 2, 3, 4});
  const Tensor mean = float64({2}, {1, 2});
  const Tensor variance = float64({2}, {4, 1});
  EXPECT_THAT(forward("Functional", "batch_norm", {x, mean, variance, float64({2}, {1, 10}), None{}, false, 0.1, 0.0}),
              ElementsAre(0, 0, 1, 20));
  EXPECT_THAT(forward("Torch", "batch_norm", {x, float64({2}, {1, 10}), None{}, mean, variance, false, 0.1, 0.0, true}),
              ElementsAre(0, 0, 1, 20));
  EXPECT_THROW(forward("Functional", "batch_norm", {x, None{}, None{}}), SkipError);
}

TEST(BatchNorm, Gradients) {
  const Tensor weight = uniform({3}, -1, 1, 2);
  const Tensor bias = uniform({3}, -1, 1, 3);
  const Tensor mean = Tensor::full(DType::float32, Dims{3}, 0.5);
  const Tensor variance = Tensor::full(DType::float32, Dims{3}, 2);
  for (const Tensor& x :
       {uniform({4, 3}, -2, 2, 1), uniform({2, 3, 2, 2}, -2, 2, 1), uniform({3, 2, 4}, -2, 2, 1).transpose(0, 1)}) {
    check_gradients("Functional", "batch_norm", {x, mean, variance, weight, bias, true});
    check_gradients("Functional", "batch_norm", {x, mean, variance, weight, bias, false});
    check_gradients("Torch", "native_batch_norm", {x, weight, bias, None{}, None{}, true, 0.1, 1e-5});
  }
}

TEST(InstanceNorm, IsGroupNormPerChannel) {
  const Tensor x = uniform({2, 3, 4}, -2, 2, 1);
  EXPECT_EQ(forward("Functional", "instance_norm", {x}), forward("Functional", "group_norm", {x, std::int64_t{3}}));
  check_gradients("Functional", "instance_norm", {x, None{}, None{}, uniform({3}, -1, 1, 2), uniform({3}, -1, 1, 3)});
  const Tensor mean = Tensor::full(DType::float32, Dims{3}, 0.5);
  const Tensor variance = Tensor::full(DType::float32, Dims{3}, 2);
  EXPECT_EQ(forward("Functional", "instance_norm", {x, mean, variance, None{}, None{}, false}),
            forward("Functional", "batch_norm", {x, mean, variance}));
  EXPECT_THROW(forward("Functional", "instance_norm", {uniform({2, 3, 1}, 0, 1, 1)}), SkipError);
}

TEST(Normalisation, EmptyInputs) {
  EXPECT_TRUE(forward("Functional", "layer_norm", {Tensor(DType::float64, {0, 3}), List{std::int64_t{3}}}).empty());
  EXPECT_TRUE(forward("Functional", "group_norm", {Tensor(DType::float64, {0, 4, 2}), std::int64_t{2}}).empty());
  const auto all = gradients("Functional", "layer_norm",
                             {Tensor(DType::float64, {0, 3}), List{std::int64_t{3}}, float64({3}, {1, 1, 1})});
  EXPECT_THAT(all[1], ElementsAre(0, 0, 0));
  const Tensor none(DType::float64, {0});
  for (const bool training : {false, true}) {
    const List args{none, none.to(DType::float32), none.to(DType::float32), None{}, None{}, training};
    EXPECT_TRUE(forward("Functional", "batch_norm", args).empty());
    EXPECT_EQ(gradients("Functional", "batch_norm", args), (std::vector<std::vector<double>>{{}}));
  }
  EXPECT_THROW(forward("Functional", "batch_norm", {float64({2}, {1, 2}), None{}, None{}, None{}, None{}, true}),
               SkipError);
}

TEST(Normalisation, RefusesAbsurdShapesWithoutElements) {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_THROW(forward("Functional", "layer_norm", {Tensor(DType::float64, {0, huge}), List{huge}}), SkipError);
  EXPECT_THROW(forward("Functional", "group_norm", {Tensor(DType::float64, {0, huge}), std::int64_t{2}}), SkipError);
  EXPECT_THROW(
      forward("Functional", "cross_entropy", {Tensor(DType::float64, {huge, 0}), Tensor(DType::float64, {huge, 0})}),
      SkipError);
  EXPECT_THROW(forward("Functional", "avg_pool2d", {Tensor(DType::float64, {huge, huge, 0, 4}), std::int64_t{2}}),
               SkipError);
  EXPECT_TRUE(forward("Functional", "softmax", {Tensor(DType::float64, {huge, 0, 4}), std::int64_t{1}}).empty());
}

TEST(Normalisation, Float16AccumulationShows) {
  const Tensor x = Tensor::full(DType::float32, Dims{1, 4096}, 1);
  std::vector<Var> leaves;
  Tape exact;
  Tape faulty({.arithmetic = {.summation = {.accumulator = Accumulator::float16}}});
  const List shape{std::int64_t{4096}};
  EXPECT_NEAR(call("Functional", "rms_norm", {x, shape, None{}, 0.0}, {}, exact, leaves).tensor().item(), 1, 1e-6);
  EXPECT_NEAR(call("Functional", "rms_norm", {x, shape, None{}, 0.0}, {}, faulty, leaves).tensor().item(),
              std::sqrt(2.0), 1e-3);
}

TEST(Normalisation, RefusesWhatDoesNotFit) {
  const Tensor x = uniform({2, 4}, 0, 1, 1);
  EXPECT_THROW(forward("Functional", "layer_norm", {x, List{std::int64_t{3}}}), SkipError);
  EXPECT_THROW(forward("Functional", "layer_norm", {x, List{std::int64_t{4}}, uniform({3}, 0, 1, 1)}), SkipError);
  EXPECT_THROW(forward("Functional", "group_norm", {x, std::int64_t{3}}), SkipError);
  EXPECT_THROW(forward("Functional", "group_norm", {x, std::int64_t{0}}), SkipError);
  EXPECT_THROW(forward("Functional", "batch_norm", {x, uniform({3}, 0, 1, 1), uniform({4}, 0, 1, 1)}), SkipError);
  EXPECT_THROW(forward("Functional", "batch_norm", {uniform({1, 4}, 0, 1, 1), None{}, None{}, None{}, None{}, true}),
               SkipError);
}

}  // namespace
}  // namespace msrun::testing
