// The constants of the precision standards, number by number as the documentation has them (precision_metrics.md 5.7,
// 5.9, 6.4, 10.6 and D2, D3), and where single elements begin to count.
#include "kernels/compare/metrics/standards.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/compare/metrics/metrics.h"
#include "kernels/compare/metrics/metrics_reference.h"

namespace msrun {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor of(DType dtype, const std::vector<double>& values) {
  const Dims shape{static_cast<std::int64_t>(values.size())};
  return Tensor::from<double>(DType::float64, shape, std::span<const double>(values)).to(dtype);
}

struct Constants {
  DType dtype;
  double small_value;
  double absolute_threshold_atol;
  double atol;
  double rtol;
  double accumulative_bound;
  int ulp_min_exponent;
  int ulp_fraction_bits;
  double ulp_limit;
};

void expect_constants(const Constants& expected, Limits limits) {
  const Thresholds& found = thresholds(expected.dtype, limits);
  SCOPED_TRACE(name(expected.dtype));
  EXPECT_EQ(found.small_value, expected.small_value);
  EXPECT_EQ(found.absolute_threshold_atol, expected.absolute_threshold_atol);
  EXPECT_EQ(found.atol, expected.atol);
  EXPECT_EQ(found.rtol, expected.rtol);
  EXPECT_EQ(found.accumulative_bound, expected.accumulative_bound);
  EXPECT_EQ(found.accumulative_small_value, 1);
  EXPECT_EQ(found.ulp_min_exponent, expected.ulp_min_exponent);
  EXPECT_EQ(found.ulp_fraction_bits, expected.ulp_fraction_bits);
  EXPECT_EQ(found.ulp_limit, expected.ulp_limit);
}

TEST(StandardConstants, OfTheDTypes) {
  for (const Constants& c : {
           Constants{DType::float16, 0x1p-10, 0x1p-16, 1e-16, 0x1p-10, 0x1p-8, -14, 10, 1},
           Constants{DType::bfloat16, 0x1p-10, 1e-16, 1e-16, 0x1p-8, 0x1p-7, -126, 7, 1},
           Constants{DType::float32, 0x1p-20, 0x1p-30, 0x1p-30, 0x1p-20, 0x1p-11, -126, 23, 32},
           Constants{DType::float8_e4m3fn, 0x1p-20, 0x1p-30, 0x1p-30, 0x1p-20, 0x1p-11, -126, 23, 1},
       }) {
    expect_constants(c, Limits::current);
  }
  for (const Constants& c : {
           Constants{DType::float16, 0x1p-11, 0x1p-16, 0x1p-16, 0x1p-10, 0x1p-8, -14, 10, 1},
           Constants{DType::bfloat16, 0x1p-8, 0x1p-16, 0x1p-16, 0x1p-8, 0x1p-7, -126, 7, 1},
           Constants{DType::float32, 0x1p-14, 0x1p-30, 0x1p-30, 0x1p-20, 0x1p-11, -126, 23, 32},
           Constants{DType::float8_e4m3fn, 0x1p-20, 0x1p-30, 0x1p-30, 0x1p-20, 0x1p-11, -126, 23, 1},
       }) {
    expect_constants(c, Limits::documented);
  }
}

TEST(StandardConstants, OfTheLevels) {
  const auto expect = [](const char* api, double largest, double mean, double rmse) {
    const OperatorLevel& level = operator_level(api);
    EXPECT_EQ(level.max_relative_error, largest) << api;
    EXPECT_EQ(level.mean_relative_error, mean) << api;
    EXPECT_EQ(level.rmse, rmse) << api;
    EXPECT_EQ(level.small_value_error, 2) << api;
    EXPECT_EQ(level.error_balance, 2) << api;
  };
  expect("matmul", 2, 1.2, 1.2);
  expect("embedding", 5, 1.5, 1.5);
  expect("softmax", 10, 2, 2);
}

TEST(StandardConstants, OfTheComparisonOfTwoDevices) {
  const auto expect = [](const char* dtype, double least, double mean, double proportion, double balance) {
    const ComparisonLimits& limits = comparison_limits(dtype);
    EXPECT_EQ(limits.least_error, least) << dtype;
    EXPECT_EQ(limits.ulp_mean, mean) << dtype;
    EXPECT_EQ(limits.ulp_proportion, proportion) << dtype;
    EXPECT_EQ(limits.error_balance, balance) << dtype;
  };
  expect("torch.float16", 0x1p-11, 0, 0.001, 0x1p-20);
  expect("torch.bfloat16", 0x1p-8, 0, 0.001, 0x1p-7);
  expect("torch.float32", 0x1p-14, 64, 0.05, 0x1p-14);
  expect("torch.float8_e5m2", 0x1p-14, 0, 0.001, 0x1p-14);
}

// 100 elements, of which one is so far beside the benchmark.
FloatMetrics one_off(DType dtype, double bench, double device, Standard standard) {
  std::vector<double> expected(100, 4);
  std::vector<double> actual = expected;
  expected[50] = bench;
  actual[50] = device;
  return float_metrics(of(DType::float64, expected), of(dtype, actual), standard, false);
}

TEST(StandardLimits, SmallValuesEndAtTheirLimit) {
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32}) {
    const double limit = thresholds(dtype).small_value;
    const auto small_errors = [&](double bench) {
      return one_off(dtype, bench, 2 * bench, Standard::benchmark)[Metric::small_value_error_ratio];
    };
    EXPECT_EQ(small_errors(limit).value, 1) << name(dtype);
    EXPECT_EQ(small_errors(-limit).value, 1) << name(dtype);
    EXPECT_EQ(small_errors(limit * (1 + 0x1p-6)).kind, Cell::Kind::integer) << name(dtype) << ": none is small";
    EXPECT_EQ(one_off(dtype, -4, -4, Standard::benchmark)[Metric::small_value_error_ratio].kind, Cell::Kind::integer);
  }
}

TEST(StandardLimits, RelativeErrorsCountBeyondTheirLimit) {
  const auto rate = [](DType dtype, double times, Standard standard) {
    const double unit =
        standard == Standard::accumulative_error ? thresholds(dtype).accumulative_bound : thresholds(dtype).rtol;
    return one_off(dtype, 2, 2 * (1 + times * unit), standard)[Metric::relative_error_rate].value;
  };
  for (const Standard standard : {Standard::absolute_threshold, Standard::accumulative_error}) {
    for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32}) {
      // A multiple of the limit that the dtype has beside 2.
      EXPECT_GT(rate(dtype, 2, standard), 0) << name(dtype);
      EXPECT_EQ(rate(dtype, 0.5, standard), 0) << name(dtype);
    }
  }
}

// NaN and infinities that are the same on both sides are settled: they are no small values.
TEST(StandardLimits, SettledPositionsDoNotDiluteTheErrorsOfSmallValues) {
  const double nan = std::nan("");
  const Tensor bench = of(DType::float32, {nan, infinity, 0x1p-12, 1});
  const Tensor device = of(DType::float16, {nan, infinity, 0x1p-12 + 0x1p-15, 1});
  EXPECT_EQ(float_metrics(bench, device, Standard::benchmark, false)[Metric::small_value_error_ratio].value, 1);
  EXPECT_EQ(float_metrics(bench, device, Standard::absolute_threshold, false)[Metric::absolute_error_rate].value, 1);
}

TEST(StandardLimits, InfinityIsRightWhereRoundingLeadsToIt) {
  const auto unequal = [](double bench) {
    return float_metrics(of(DType::float32, {bench, 1}), of(DType::float16, {infinity, 1}), Standard::benchmark, false);
  };
  // 65520 rounds to infinity, what is below to the largest number, which is within the relative limit of it.
  EXPECT_EQ(unequal(65520).nonfinite_equal, 1);
  EXPECT_EQ(unequal(65519).nonfinite_equal, 0);
  EXPECT_EQ(unequal(65519).nonfinite_unequal, 0);
  EXPECT_EQ(unequal(65472).nonfinite_unequal, 0);
  EXPECT_EQ(unequal(65408).nonfinite_unequal, 1);
}

TEST(StandardLimits, ErrorsBeyondTheRangeOfFloat16AreInfinite) {
  std::vector<double> values(64, 1);
  values[3] = -1000;
  const Tensor bench = of(DType::float16, values);
  values[3] = 65504;
  const Tensor device = of(DType::float16, values);
  EXPECT_EQ(float_metrics(bench, device, Standard::benchmark, false).max_abs_error.value, infinity);
  EXPECT_EQ(float_metrics_reference(bench, device, Standard::benchmark, false).max_abs_error.value, infinity);
}

}  // namespace
}  // namespace msrun
