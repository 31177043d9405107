// Sums, moments, norms, extrema, scans and counts: hand-computed values, ties, NaN, empty axes, and gradients against
// differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsNan;
using ::testing::Pointwise;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

List ints(std::initializer_list<std::int64_t> values) { return {values.begin(), values.end()}; }

std::vector<double> run(const std::string& api, const List& args, const Dict& kwargs = {}, std::size_t output = 0) {
  return forward("Torch", api, args, kwargs, output);
}

std::vector<double> gradient(const std::string& api, const List& args, const Dict& kwargs = {}) {
  return gradients("Torch", api, args, kwargs)[0];
}

DType result_dtype_of(const std::string& api, const List& args, const Dict& kwargs = {}) {
  Tape tape;
  std::vector<Var> leaves;
  return call("Torch", api, args, kwargs, tape, leaves).dtype();
}

TEST(Reduction, SumsOverAnyAxes) {
  const Tensor x = float64({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(run("sum", {x}), ElementsAre(21));
  EXPECT_THAT(run("sum", {x, std::int64_t{-1}}), ElementsAre(6, 15));
  EXPECT_THAT(run("sum", {x, ints({0, 1}), true}), ElementsAre(21));
  EXPECT_THAT(run("sum", {x, List{}}), ElementsAre(21));
  EXPECT_THAT(run("sum", {x}, {{"axis", std::int64_t{0}}}), ElementsAre(5, 7, 9));
  EXPECT_THAT(run("sum", {x.transpose(0, 1), std::int64_t{0}}), ElementsAre(6, 15));
  EXPECT_THAT(run("sum", {float64({}, {3}), std::int64_t{-1}}), ElementsAre(3));
  EXPECT_THAT(run("sum", {float64({0, 2}, {}), std::int64_t{0}}), ElementsAre(0, 0));
  EXPECT_THROW(run("sum", {x, std::int64_t{2}}), SkipError);
  EXPECT_THROW(run("sum", {x, ints({0, -2})}), SkipError);
  EXPECT_EQ(result_dtype_of("sum", {x.to(DType::int8)}), DType::int64);
  EXPECT_EQ(result_dtype_of("sum", {x.to(DType::boolean)}), DType::int64);
  EXPECT_EQ(result_dtype_of("sum", {x.to(DType::bfloat16)}, {{"dtype", DType::float32}}), DType::float32);
  check_gradients("Torch", "sum", {uniform({2, 3, 4}, -1, 1, 1), ints({0, -1})});
  check_gradients("Tensor", "sum", {uniform({}, -1, 1, 1)}, {{"keepdim", true}});
}

TEST(Reduction, MeanRoundsHalfOnce) {
  EXPECT_THAT(run("mean", {float64({2, 2}, {1, 2, 3, 6}), std::int64_t{1}}), ElementsAre(1.5, 4.5));
  // The sum, 130048, overflows float16; the mean does not.
  EXPECT_THAT(run("mean", {Tensor::full(DType::float16, Dims{4}, 32512)}), ElementsAre(32512));
  EXPECT_TRUE(std::isnan(run("mean", {float64({0}, {})})[0]));
  EXPECT_THROW(run("mean", {int64({2}, {1, 2})}), SkipError);
  EXPECT_THAT(run("mean", {int64({2}, {1, 2})}, {{"dtype", DType::float32}}), ElementsAre(1.5));
  check_gradients("Torch", "mean", {uniform({3, 4}, -1, 1, 2), std::int64_t{0}, true});
}

TEST(Reduction, Float16AccumulationLosesSmallTerms) {
  std::vector<double> data(5000, 1);
  const Tensor x = float64({5000}, data).to(DType::float32);
  const auto with = [&](bool faulty, const char* api) {
    Arithmetic arithmetic;
    if (faulty) arithmetic.summation.accumulator = Accumulator::float16;
    Tape tape({.arithmetic = arithmetic});
    const Value result = find_operator("Torch", api)->call({tape.constant(x)}, {}, tape);
    return result.get<Var>()->tensor().item();
  };
  EXPECT_EQ(with(false, "sum"), 5000);
  EXPECT_EQ(with(true, "sum"), 2048);
  EXPECT_FLOAT_EQ(static_cast<float>(with(true, "mean")), 2048.0F / 5000);
  EXPECT_FLOAT_EQ(static_cast<float>(with(true, "norm")), std::sqrt(2048.0F));
}

TEST(Reduction, NanSumAndMean) {
  const Tensor x = float64({2, 2}, {1, nan_value, 3, 5});
  EXPECT_THAT(run("nansum", {x, std::int64_t{1}}), ElementsAre(1, 8));
  EXPECT_THAT(run("nanmean", {x, std::int64_t{1}}), ElementsAre(1, 4));
  EXPECT_THAT(gradient("nansum", {x}), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(gradient("nanmean", {x, std::int64_t{1}}), ElementsAre(1, 0, 0.5, 0.5));
}

TEST(Reduction, MomentsInAllForms) {
  const Tensor x = float64({3}, {1, 2, 4});
  EXPECT_NEAR(run("var", {x})[0], 7.0 / 3, 1e-14);
  EXPECT_NEAR(run("var", {x, false})[0], 14.0 / 9, 1e-14);
  EXPECT_NEAR(run("var", {x, std::int64_t{0}, false})[0], 14.0 / 9, 1e-14);
  EXPECT_NEAR(run("var", {x}, {{"dim", std::int64_t{0}}, {"correction", std::int64_t{0}}})[0], 14.0 / 9, 1e-14);
  EXPECT_NEAR(run("var", {x}, {{"unbiased", false}})[0], 14.0 / 9, 1e-14);
  EXPECT_NEAR(run("std", {x, List{std::int64_t{0}}, true, true})[0], std::sqrt(7.0 / 3), 1e-14);
  EXPECT_NEAR(run("var_mean", {x}, {{"dim", std::int64_t{0}}}, 1)[0], 7.0 / 3, 1e-14);
  EXPECT_TRUE(std::isnan(run("var", {float64({1}, {2})})[0]));
  EXPECT_THAT(gradient("std", {x}),
              Pointwise(DoubleNear(1e-15), {-0.43643578047198484, -0.10910894511799625, 0.5455447255899809}));
  EXPECT_THAT(gradient("std", {float64({2}, {1, 1})}), ElementsAre(0, 0));
  EXPECT_THAT(gradient("std", {float64({11}, std::vector<double>(11, 0.1))}), Each(0));
  for (const char* api : {"var", "std", "var_mean", "std_mean"}) {
    check_gradients("Torch", api, {uniform({3, 4, 2}, -1, 1, 3), ints({0, 2})});
    check_gradients("Torch", api, {uniform({3, 4}, -1, 1, 4), std::int64_t{1}, false, true});
  }
  check_gradients("Torch", "std_mean", {uniform({3, 4}, -1, 1, 4)}, {}, 1);
}

TEST(Reduction, ProductWithZeros) {
  EXPECT_THAT(run("prod", {float64({2, 2}, {1, 2, 3, 4}), std::int64_t{1}}), ElementsAre(2, 12));
  EXPECT_THAT(run("prod", {int64({3}, {2, 3, 4})}), ElementsAre(24));
  EXPECT_THAT(run("prod", {float64({0}, {})}), ElementsAre(1));
  EXPECT_THAT(gradient("prod", {float64({3}, {0, 2, 3})}), ElementsAre(6, 0, 0));
  EXPECT_THAT(gradient("prod", {float64({3}, {0, 0, 3})}), ElementsAre(0, 0, 0));
  check_gradients("Torch", "prod", {uniform({3, 4}, -1, 1, 5), std::int64_t{0}, true});
  check_gradients("Torch", "prod", {uniform({3, 2}, -1, 1, 5)});
}

TEST(Reduction, LogSumExp) {
  EXPECT_NEAR(run("logsumexp", {float64({2}, {1000, 1000}), std::int64_t{0}})[0], 1000 + std::log(2), 1e-12);
  EXPECT_EQ(run("logsumexp", {float64({2}, {-inf, -inf}), std::int64_t{0}})[0], -inf);
  EXPECT_EQ(run("logsumexp", {float64({2}, {inf, 1}), std::int64_t{0}})[0], inf);
  EXPECT_EQ(run("logsumexp", {float64({0, 1}, {}), std::int64_t{0}})[0], -inf);
  // As in torch: -inf less -inf.
  EXPECT_THAT(gradient("logsumexp", {float64({2}, {-inf, -inf}), std::int64_t{0}}), Each(IsNan()));
  check_gradients("Torch", "logsumexp", {uniform({3, 4, 2}, -3, 3, 6), ints({0, 2}), true});
}

TEST(Reduction, NormsOfEveryOrder) {
  const Tensor x = float64({3}, {3, -3, 1});
  EXPECT_DOUBLE_EQ(run("norm", {x})[0], std::sqrt(19));
  EXPECT_THAT(run("norm", {x}, {{"p", std::int64_t{1}}}), ElementsAre(7));
  EXPECT_THAT(run("norm", {x, inf}), ElementsAre(3));
  EXPECT_THAT(run("norm", {x, -inf}), ElementsAre(1));
  EXPECT_THAT(run("norm", {float64({3}, {0, 2, 5}), std::int64_t{0}}), ElementsAre(2));
  EXPECT_THAT(gradient("norm", {float64({3}, {0, 2, 5}), std::int64_t{0}}), Each(0));
  EXPECT_THAT(gradient("norm", {x, inf}), ElementsAre(0.5, -0.5, 0));
  EXPECT_THAT(gradient("norm", {float64({2}, {0, 2}), 0.5}), ElementsAre(0, DoubleNear(1, 1e-14)));
  // |x|^-1.5 alone would leave the range of numbers.
  EXPECT_THAT(gradient("norm", {float64({2}, {1e-200, 1e-200}), 0.5}), Each(DoubleNear(2, 1e-12)));
  EXPECT_THAT(gradient("norm", {float64({2}, {1, 2}), std::int64_t{3}}),
              Pointwise(DoubleNear(1e-14), {0.2311204247835449, 0.9244816991341795}));
  EXPECT_THAT(gradient("norm", {float64({2}, {0, 0})}), ElementsAre(0, 0));
  for (const double p : {0.5, 1.0, 2.0, 3.5, inf, -inf}) {
    check_gradients("Torch", "norm", {uniform({3, 4}, 0.2, 1, 7), p, std::int64_t{1}});
    check_gradients("Torch", "vector_norm", {uniform({3, 4}, -1, -0.2, 8)}, {{"ord", p}, {"keepdim", true}});
  }
  check_gradients("Torch", "dist", {uniform({3, 4}, -1, 1, 9), uniform({4}, -1, 1, 10), 3.0});
  EXPECT_THROW(run("norm", {int64({2}, {1, 2})}), SkipError);
  EXPECT_THROW(run("norm", {x, std::string("nuc")}), SkipError);
}

TEST(Reduction, MatrixNormsUnderTheNameOfNorm) {
  const Tensor x = float64({2, 2}, {1, -2, 3, 4});
  EXPECT_THAT(run("norm", {x}, {{"ord", std::int64_t{1}}}), ElementsAre(6));
  EXPECT_THAT(run("norm", {x}, {{"ord", inf}}), ElementsAre(7));
  EXPECT_THAT(run("norm", {x}, {{"ord", -inf}}), ElementsAre(3));
  EXPECT_THAT(run("linalg.norm", {x, std::int64_t{-1}}), ElementsAre(4));
  EXPECT_DOUBLE_EQ(run("norm", {x}, {{"ord", std::string("fro")}})[0], std::sqrt(30));
  check_gradients("Torch", "linalg.norm", {uniform({2, 3, 4}, -1, 1, 11), std::int64_t{1}, ints({2, 0})});
}

TEST(Extrema, TiesShareOrFollowTheIndex) {
  const Tensor x = float64({4}, {1, 3, 3, 2});
  EXPECT_THAT(run("max", {x}), ElementsAre(3));
  EXPECT_THAT(gradient("max", {x}), ElementsAre(0, 0.5, 0.5, 0));
  EXPECT_THAT(gradient("amax", {x}), ElementsAre(0, 0.5, 0.5, 0));
  EXPECT_THAT(gradient("max", {x, std::int64_t{0}}), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(run("max", {x, std::int64_t{0}}, {}, 1), ElementsAre(1));
  EXPECT_THAT(run("min", {x.reshape(Dims{2, 2}), std::int64_t{0}, true}), ElementsAre(1, 2));
  EXPECT_THAT(run("min", {x.reshape(Dims{2, 2}), std::int64_t{0}}, {}, 1), ElementsAre(0, 1));
  EXPECT_THAT(run("argmax", {x}), ElementsAre(1));
  EXPECT_THAT(run("argmin", {x.reshape(Dims{2, 2}), std::int64_t{-1}}), ElementsAre(0, 1));
  EXPECT_THAT(run("aminmax", {x}, {}, 1), ElementsAre(3));
  EXPECT_THAT(run("max", {x, float64({1}, {2.5})}), ElementsAre(2.5, 3, 3, 2.5));
  EXPECT_THAT(run("max", {int64({2}, {1, 5}), int64({1}, {2})}), ElementsAre(2, 5));
  EXPECT_THROW(run("max", {float64({0}, {})}), SkipError);
}

TEST(Extrema, NanWins) {
  std::vector<double> data(40, 1);
  data[37] = nan_value;
  data[39] = 7;
  EXPECT_TRUE(std::isnan(run("max", {float64({40}, data)})[0]));
  EXPECT_TRUE(std::isnan(run("amin", {float64({40}, data)})[0]));
  EXPECT_TRUE(std::isnan(run("amin", {float64({20, 2}, data), std::int64_t{0}})[1]));
  EXPECT_THAT(run("argmax", {float64({40}, data)}), ElementsAre(37));
  EXPECT_THAT(run("argmin", {float64({20, 2}, data), std::int64_t{0}}), ElementsAre(0, 18));
  EXPECT_TRUE(std::isnan(run("max", {float64({2}, {1, nan_value}), float64({2}, {nan_value, 1})})[0]));
  EXPECT_TRUE(std::isnan(run("max", {float64({2}, {1, nan_value}), float64({2}, {nan_value, 1})})[1]));
}

TEST(Extrema, Gradients) {
  const Tensor x = uniform({3, 4, 5}, -1, 1, 12);
  for (const char* api : {"max", "min"}) {
    check_gradients("Torch", api, {x});
    check_gradients("Torch", api, {x, std::int64_t{1}});
    check_gradients("Torch", api, {x, uniform({5}, -1, 1, 13)});
  }
  check_gradients("Torch", "amax", {x, ints({0, 2})});
  check_gradients("Torch", "amin", {x}, {{"dim", ints({1})}, {"keepdim", true}});
  check_gradients("Torch", "aminmax", {x}, {{"dim", std::int64_t{1}}}, 1);
}

TEST(Extrema, Quantiles) {
  const Tensor x = float64({4}, {4, 1, 3, 2});
  EXPECT_THAT(run("quantile", {x, 0.4}), ElementsAre(DoubleNear(2.2, 1e-14)));
  EXPECT_THAT(run("quantile", {x, float64({2}, {0, 1})}), ElementsAre(1, 4));
  const auto interpolated = [&](const char* how) {
    return run("quantile", {x, 0.4}, {{"interpolation", std::string(how)}})[0];
  };
  EXPECT_EQ(interpolated("lower"), 2);
  EXPECT_EQ(interpolated("higher"), 3);
  EXPECT_EQ(interpolated("midpoint"), 2.5);
  EXPECT_EQ(interpolated("nearest"), 2);
  const Tensor with_nan = float64({2, 2}, {1, nan_value, 3, 5});
  EXPECT_TRUE(std::isnan(run("quantile", {with_nan, 0.5, std::int64_t{1}})[0]));
  EXPECT_THAT(run("nanquantile", {with_nan, 0.5, std::int64_t{1}}), ElementsAre(1, 4));
  EXPECT_THAT(run("quantile", {float64({2, 2}, {1, 2, 3, 6}), float64({2}, {0.5, 1}), std::int64_t{0}}),
              ElementsAre(2, 4, 3, 6));
  EXPECT_THROW(run("quantile", {x, 1.5}), SkipError);
  EXPECT_THROW(run("quantile", {x, nan_value}), SkipError);
  check_gradients("Torch", "quantile", {uniform({3, 4, 2}, -1, 1, 14), 0.3, std::int64_t{1}, true});
}

// Interpolating multiplies a difference, which infinite neighbours have none of.
TEST(Extrema, QuantilesAtInfinity) {
  const Tensor x = float64({3}, {-inf, -inf, 3});
  EXPECT_TRUE(std::isnan(run("quantile", {x, 0.5})[0]));
  EXPECT_TRUE(std::isnan(run("quantile", {x, 0.25}, {{"interpolation", std::string("midpoint")}})[0]));
  EXPECT_EQ(run("quantile", {x, 0.75})[0], -inf);
  EXPECT_EQ(run("quantile", {x, 1.0})[0], 3);
  for (const char* how : {"lower", "higher", "nearest"})
    EXPECT_EQ(run("quantile", {x, 0.5}, {{"interpolation", std::string(how)}})[0], -inf);
}

TEST(Scan, SumsAndProducts) {
  const Tensor x = float64({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(run("cumsum", {x, std::int64_t{1}}), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(run("cumsum", {x, std::int64_t{0}}), ElementsAre(1, 2, 3, 5, 7, 9));
  EXPECT_THAT(run("cumprod", {x, std::int64_t{-1}}), ElementsAre(1, 2, 6, 4, 20, 120));
  EXPECT_EQ(result_dtype_of("cumsum", {x.to(DType::boolean), std::int64_t{0}}), DType::int64);
  EXPECT_EQ(result_dtype_of("cumprod", {x.to(DType::int16), std::int64_t{0}}), DType::int64);
  EXPECT_THAT(gradient("cumprod", {float64({3}, {2, 0, 3}), std::int64_t{0}}), ElementsAre(1, 8, 0));
  EXPECT_THAT(run("cumsum", {float64({}, {2}), std::int64_t{0}}), ElementsAre(2));
  EXPECT_THROW(run("cumsum", {x, std::int64_t{3}}), SkipError);
  for (const char* api : {"cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"}) {
    check_gradients("Torch", api, {uniform({3, 4, 2}, -1, 1, 15), std::int64_t{1}});
    check_gradients("Torch", api, {uniform({3, 4}, -1, 1, 16), std::int64_t{-1}});
  }
}

// A dtype of integers that is asked for is that of the result, in which it wraps; the values are torch's.
TEST(Scan, AndSumsHaveTheIntegersThatAreAskedFor) {
  const Tensor x = int64({3}, {100, 100, 3});
  const Dict asked{{"dtype", DType::int8}};
  for (const DType dtype : {DType::int32, DType::int64, DType::uint8}) {
    const List args{x.to(dtype), std::int64_t{0}};
    EXPECT_THAT(run("cumsum", args, asked), ElementsAre(100, -56, -53)) << name(dtype);
    EXPECT_THAT(run("cumprod", args, asked), ElementsAre(100, 16, 48)) << name(dtype);
    EXPECT_THAT(run("sum", args, asked), ElementsAre(-53)) << name(dtype);
    EXPECT_THAT(run("prod", args, asked), ElementsAre(48)) << name(dtype);
    for (const char* api : {"cumsum", "cumprod", "sum", "prod", "nansum"})
      EXPECT_EQ(result_dtype_of(api, args, asked), DType::int8) << api;
  }
  EXPECT_THAT(run("cumsum", {float64({3}, {1.5, 2.7, 1.2}), std::int64_t{0}}, {{"dtype", DType::int32}}),
              ElementsAre(1, 3, 4));
}

TEST(Scan, LatestExtremumOnTies) {
  const Tensor x = float64({4}, {1, 3, 3, 2});
  EXPECT_THAT(run("cummax", {x, std::int64_t{0}}), ElementsAre(1, 3, 3, 3));
  EXPECT_THAT(run("cummax", {x, std::int64_t{0}}, {}, 1), ElementsAre(0, 1, 2, 2));
  EXPECT_THAT(gradient("cummax", {x, std::int64_t{0}}), ElementsAre(1, 1, 2, 0));
  EXPECT_THAT(run("cummin", {float64({3}, {2, nan_value, 1}), std::int64_t{0}}, {}, 1), ElementsAre(0, 1, 1));
}

TEST(Scan, LogCumSumExpIsStable) {
  const std::vector<double> y = run("logcumsumexp", {float64({4}, {-inf, 1000, 1000, -1000}), std::int64_t{0}});
  EXPECT_THAT(y, ElementsAre(-inf, 1000, DoubleNear(1000 + std::log(2), 1e-12), DoubleNear(1000 + std::log(2), 1e-12)));
  EXPECT_THAT(gradient("logcumsumexp", {float64({3}, {-inf, 1000, -1000}), std::int64_t{0}}),
              ElementsAre(IsNan(), 2, 0));
}

TEST(Scan, Differences) {
  const Tensor x = float64({4}, {1, 4, 2, 7});
  EXPECT_THAT(run("diff", {x}), ElementsAre(3, -2, 5));
  EXPECT_THAT(run("diff", {x, std::int64_t{2}}), ElementsAre(-5, 7));
  EXPECT_THAT(run("diff", {x, std::int64_t{9}}), ElementsAre());
  EXPECT_THAT(run("diff", {x}, {{"prepend", float64({1}, {0})}, {"append", float64({1}, {7})}}),
              ElementsAre(1, 3, -2, 5, 0));
  EXPECT_THAT(run("diff", {int64({3}, {1, 0, 0}).to(DType::boolean)}), ElementsAre(1, 0));
  EXPECT_THROW(run("diff", {float64({}, {1})}), SkipError);
  check_gradients("Torch", "diff", {uniform({3, 4}, -1, 1, 17), std::int64_t{2}, std::int64_t{0}});
}

TEST(Reduction, SumToSize) {
  const Tensor x = float64({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(forward("Tensor", "sum_to_size", {x, ints({2, 1})}), ElementsAre(6, 15));
  EXPECT_THROW(forward("Tensor", "sum_to_size", {x, ints({2, 2})}), SkipError);
  check_gradients("Tensor", "sum_to_size", {x, std::int64_t{3}});
}

TEST(Counting, QuantifiersAndCounts) {
  const Tensor x = float64({2, 3}, {0, 1, nan_value, 0, 0, 0});
  EXPECT_THAT(run("any", {x, std::int64_t{1}}), ElementsAre(1, 0));
  EXPECT_THAT(run("all", {x, std::int64_t{0}}), ElementsAre(0, 0, 0));
  EXPECT_THAT(run("all", {float64({0}, {})}), ElementsAre(1));
  EXPECT_THAT(run("any", {float64({0}, {})}), ElementsAre(0));
  EXPECT_EQ(result_dtype_of("any", {x}), DType::boolean);
  EXPECT_EQ(result_dtype_of("all", {x.to(DType::uint8)}), DType::uint8);
  EXPECT_THAT(run("count_nonzero", {x}), ElementsAre(2));
  EXPECT_THAT(run("count_nonzero", {x, std::int64_t{0}}), ElementsAre(0, 1, 1));
}

TEST(Counting, Histograms) {
  EXPECT_THAT(run("histc", {float64({5}, {1, 2, 1, 4, 9}), std::int64_t{4}, 0.0, 4.0}), ElementsAre(0, 2, 1, 1));
  EXPECT_THAT(run("histc", {float64({3}, {1, 2, 3}), std::int64_t{2}}), ElementsAre(1, 2));
  EXPECT_EQ(result_dtype_of("histc", {int64({2}, {1, 2})}), DType::float32);
  EXPECT_THROW(run("histc", {float64({2}, {1, inf})}), SkipError);
  EXPECT_THROW(run("histc", {float64({2}, {1, 2}), std::int64_t{0}}), SkipError);
  // One more than 1e300 is 1e300, and the distance of the largest values has no double.
  EXPECT_THROW(run("histc", {float64({2}, {1e300, 1e300})}), SkipError);
  EXPECT_THROW(run("histc", {float64({2}, {-1.7e308, 1.7e308})}), SkipError);
  EXPECT_THAT(run("bincount", {int64({4}, {1, 1, 0, 3})}, {{"minlength", std::int64_t{6}}}),
              ElementsAre(1, 2, 0, 1, 0, 0));
  EXPECT_THAT(run("bincount", {int64({3}, {1, 1, 0}), float64({3}, {0.5, 0.25, 2})}), ElementsAre(2, 0.75));
  EXPECT_THROW(run("bincount", {int64({1}, {-1})}), SkipError);
}

}  // namespace
}  // namespace msrun
