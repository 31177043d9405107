// The verdicts of compare.h: standards, the status walk, and every default that departs from upstream.
#include "kernels/compare/compare.h"

#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/compare/metrics/metrics.h"
#include "tests/kernels/compare/support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

TEST(Standards, SelectionFollowsTheListsAndThePolicy) {
  struct Case {
    const char* api;
    DType dtype;
    bool fp8_input;
    Standard per_api;
    Standard current;
  };
  const std::vector<Case> cases = {
      {"mul", DType::float16, false, Standard::absolute_threshold, Standard::benchmark},
      {"relu", DType::float32, false, Standard::binary_consistency, Standard::benchmark},
      {"matmul", DType::bfloat16, false, Standard::ulp, Standard::benchmark},
      {"conv2d", DType::float64, false, Standard::dual_1000, Standard::benchmark},
      {"test_api", DType::float32, false, Standard::accumulative_error, Standard::benchmark},
      {"softmax", DType::float32, false, Standard::benchmark, Standard::benchmark},
      {"Mul", DType::float32, false, Standard::benchmark, Standard::benchmark},
      {"softmax", DType::float8_e5m2, true, Standard::ulp, Standard::ulp},
      {"matmul", DType::float16, true, Standard::absolute_threshold, Standard::absolute_threshold},
      {"matmul", DType::int64, false, Standard::binary_consistency, Standard::binary_consistency},
      {"matmul", DType::complex64, false, Standard::ulp, Standard::ulp},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(select_standard(c.api, c.dtype, c.fp8_input, Policy::per_api), c.per_api) << c.api;
    EXPECT_EQ(select_standard(c.api, c.dtype, c.fp8_input, Policy::current), c.current) << c.api;
    EXPECT_EQ(select_standard(c.api, torch_name(c.dtype), c.fp8_input, Policy::per_api), c.per_api) << c.api;
  }
  EXPECT_EQ(select_standard("mul", "torch_npu.HiFloat8Tensor", true, Policy::per_api), Standard::ulp);
  EXPECT_EQ(select_standard("mul", "<class 'int'>", false, Policy::per_api), Standard::binary_consistency);
}

TEST(Standards, LevelsAreCaseSensitiveAndDefaultToL0) {
  EXPECT_STREQ(operator_level("matmul").name, "L2");
  EXPECT_STREQ(operator_level("scatter_add_").name, "L1");
  EXPECT_STREQ(operator_level("gelu").name, "L2");
  EXPECT_STREQ(operator_level("GELU").name, "L0");
  EXPECT_STREQ(operator_level("gelu", LevelNames::upstream).name, "L0");
  EXPECT_STREQ(operator_level("GELU", LevelNames::upstream).name, "L2");
  EXPECT_STREQ(operator_level("matmul", LevelNames::upstream).name, "L2");
  EXPECT_EQ(operator_level("embedding").max_relative_error, 5);
}

// Section 7. 1000 elements of 10 with errors chosen so that each test decides once.
TEST(StatusWalk, EveryStep) {
  struct Case {
    const char* what;
    DType dtype;
    double error;
    int wrong;
    Status status;
    const char* line;
  };
  const std::vector<Case> cases = {
      {"max abs", DType::float32, 0.0005, 1000, Status::pass, "Max abs error is less than 0.001, consider as pass"},
      {"fp16 dual-100 fails", DType::float16, 1, 10, Status::error,
       "Relative error is greater than 0.01, consider as error"},
      {"fp16 dual-1000 passes", DType::float16, 0.0078125, 1000, Status::pass, "Relative error is less than 0.001"},
      {"fp16 dual-1000 fails", DType::float16, 1, 9, Status::warning,
       "Relative error is greater than 0.001, consider as warning"},
      {"fp32 dual-1000 fails", DType::float32, 1, 1, Status::error,
       "Relative error is greater than 0.001, consider as error"},
      {"fp32 dual-10000 fails", DType::float32, 0.005, 1, Status::warning,
       "Relative error is greater than 0.0001, consider as warning"},
  };
  for (const Case& c : cases) {
    std::vector<double> bench(1000, 10);
    std::vector<double> device = bench;
    for (int i = 0; i < c.wrong; ++i) device[static_cast<std::size_t>(i)] += c.error;
    const DType raised = c.dtype == DType::float16 ? DType::float32 : DType::float64;
    const DetailsRow row = compare_one("softmax", vector(raised, bench), vector(c.dtype, device));
    EXPECT_EQ(row.status, c.status) << c.what;
    EXPECT_THAT(row.message, HasSubstr(c.line)) << c.what;
  }
  // The last step needs an error above 0.001 that is relatively small.
  const DetailsRow last =
      compare_one("softmax", vector(DType::float64, {1000, 2000}), vector(DType::float32, {1000.01, 2000}));
  EXPECT_EQ(last.status, Status::pass);
  EXPECT_EQ(last.message, "\nRelative error is less than 0.0001, consider as pass.\n");
  const DetailsRow first = compare_one("softmax", vector(DType::float64, {1, -1}), vector(DType::float32, {1, 1}));
  EXPECT_EQ(first.status, Status::error);
  EXPECT_EQ(text(first, Metric::max_abs_error), " ");
}

// What is exactly at a limit fails.
TEST(StatusWalk, TheLimitsThemselvesFail) {
  // A cosine of 99 / 100.
  std::vector<double> device(200, 1);
  device[0] = 99;
  std::vector<double> bench(200, 0);
  bench[0] = 1;
  const DetailsRow cosine = compare_one("softmax", vector(DType::float64, bench), vector(DType::float32, device));
  EXPECT_EQ(text(cosine, Metric::cosine), "0.99000000000000");
  EXPECT_THAT(cosine.message, HasSubstr("Cosine similarity is less than 0.99"));

  const DetailsRow error = compare_one("softmax", vector(DType::float64, {0, 1}), vector(DType::float64, {0.001, 1}));
  EXPECT_EQ(error.status, Status::error) << "a largest absolute error of 0.001";

  std::vector<double> tens(10000, 10);
  std::vector<double> beside = tens;
  beside[4] += 0.005;
  const DetailsRow share = compare_one("softmax", vector(DType::float64, tens), vector(DType::float32, beside));
  EXPECT_EQ(text(share, Metric::dual_10000), "0.99990000000000");
  EXPECT_EQ(share.status, Status::warning);
}

TEST(StatusWalk, Float8HasNoVerdictLine) {
  const DetailsRow row = compare_one("mul", vector(DType::float32, {1, 2}), vector(DType::float8_e4m3fn, {1.125, 2}));
  EXPECT_EQ(row.status, Status::pass);
  EXPECT_EQ(row.message, "\n");
  EXPECT_EQ(text(row, Metric::ulp_max), "1.00000000000000");
  EXPECT_EQ(text(row, Metric::dual_1000), "0.50000000000000");
  EXPECT_THROW(compare_one("mul", vector(DType::float32, {1}), vector(DType::float8_e5m2, {1}), compat()), SkipError);
}

TEST(PreChecks, MessagesNameShapesAndDtypes) {
  const DetailsRow shapes = compare_one("mul", tensor(DType::float64, {2, 1}, {1, 2}), vector(DType::float32, {1, 2}));
  EXPECT_EQ(shapes.status, Status::error);
  EXPECT_EQ(shapes.message, "The shape of benchtorch.Size([2, 1]) and nputorch.Size([2]) not equal.");
  EXPECT_EQ(shapes.shape, "(2,)");
  EXPECT_EQ(shapes.bench_dtype, "torch.float64");
  const DetailsRow dtypes = compare_one("mul", vector(DType::int64, {1}), vector(DType::float32, {1}));
  EXPECT_EQ(dtypes.message, "Bench out dtype is int64 but npu output dtype is float32, cannot compare.");
  const DetailsRow empty = compare_one("mul", tensor(DType::float64, {2, 0}, {}), tensor(DType::float32, {2, 0}, {}));
  EXPECT_EQ(empty.status, Status::skip);
  EXPECT_EQ(empty.message, "There is not bench calculation result.");
}

// Decision 14: a device that reproduces the benchmark's NaN and infinities is right.
TEST(Defaults, EqualNonFiniteValuesAreEqual) {
  const std::vector<double> values = {nan, inf, -inf, 2};
  for (const char* api : {"softmax", "mul", "matmul", "relu", "test_api"}) {
    const DetailsRow row = compare_one(api, vector(DType::float32, values), vector(DType::float16, values));
    EXPECT_EQ(row.status, Status::pass) << api;
    EXPECT_THAT(row.message, HasSubstr("NaN or Inf at 3 positions is the same on both sides")) << api;
    EXPECT_EQ(compare_one(api, vector(DType::float32, values), vector(DType::float16, values), compat()).status,
              Status::error);
  }
  const DetailsRow row = compare_one("mul", vector(DType::float32, values), vector(DType::float16, values));
  EXPECT_EQ(text(row, Metric::inf_nan_error_rate), "0.00000000000000");
  EXPECT_EQ(row[Metric::absolute_error_rate], Cell::integer(0)) << "settled positions are no small values";
  EXPECT_EQ(
      text(compare_one("matmul", vector(DType::float64, values), vector(DType::float32, values)), Metric::ulp_max),
      "0.00000000000000");
  EXPECT_EQ(text(compare_one("relu", vector(DType::float64, values), vector(DType::float32, values)),
                 Metric::binary_error_rate),
            "0.00000000000000");
}

TEST(Defaults, OverflowOfTheDeviceDtypeCountsAsTheSameInfinity) {
  EXPECT_EQ(compare_one("mul", vector(DType::float32, {70000, 1}), vector(DType::float16, {inf, 1})).status,
            Status::pass);
  EXPECT_EQ(compare_one("mul", vector(DType::float32, {-70000, 1}), vector(DType::float16, {inf, 1})).status,
            Status::error);
  EXPECT_EQ(compare_one("mul", vector(DType::float32, {60000, 1}), vector(DType::float16, {inf, 1})).status,
            Status::error);
  EXPECT_EQ(compare_one("mul", vector(DType::float32, {65519, 1}), vector(DType::float16, {inf, 1})).status,
            Status::error);
  EXPECT_EQ(compare_one("mul", vector(DType::float64, {1e39, 1}), vector(DType::float32, {inf, 1})).status,
            Status::pass);
}

// One NaN among many elements never weighs in the ratios; upstream lets it pass.
TEST(Defaults, NonFiniteOnOneSideIsAnError) {
  std::vector<double> bench(100000, 10);
  std::vector<double> device = bench;
  device[777] = nan;
  EXPECT_EQ(compare_one("softmax", vector(DType::float32, bench), vector(DType::bfloat16, device), compat()).status,
            Status::pass);
  const DetailsRow row = compare_one("softmax", vector(DType::float32, bench), vector(DType::bfloat16, device));
  EXPECT_EQ(row.status, Status::error);
  EXPECT_THAT(row.message, HasSubstr("NaN or Inf at 1 positions is on one side only"));
  device[777] = 10;
  bench[777] = inf;
  EXPECT_EQ(compare_one("softmax", vector(DType::float32, bench), vector(DType::bfloat16, device)).status,
            Status::error);
}

// Section 15, 4: dividing by an infinite bench value forgives any device value.
TEST(Defaults, InfiniteBenchDoesNotForgiveAFiniteDevice) {
  const Tensor bench = vector(DType::float32, {inf, 1, 2, 3});
  const Tensor device = vector(DType::float16, {5, 1, 2, 3});
  EXPECT_EQ(text(compare_one("mul", bench, device, compat()), Metric::inf_nan_error_rate), "0.00000000000000");
  const DetailsRow row = compare_one("mul", bench, device);
  EXPECT_EQ(text(row, Metric::inf_nan_error_rate), "1.00000000000000");
  EXPECT_EQ(row.status, Status::error);
}

// Section 15, 3.
TEST(Defaults, AScalarMismatchHasAnErrorRate) {
  EXPECT_EQ(compare_one("size", std::int64_t{3}, std::int64_t{4})[Metric::binary_error_rate], Cell::integer(1));
  EXPECT_EQ(compare_one("size", std::int64_t{3}, std::int64_t{4}, compat())[Metric::binary_error_rate], Cell{});
  const DetailsRow equal = compare_one("size", nan, nan);
  EXPECT_EQ(equal.status, Status::pass);
  EXPECT_FALSE(equal.message.empty());
  EXPECT_EQ(compare_one("size", nan, 1.0).status, Status::error);
  EXPECT_EQ(compare_one("size", 1.0, nan).status, Status::error);
  EXPECT_EQ(compare_one("size", nan, nan, compat()).status, Status::error);
}

// Section 15, 10: 2^(m - e) leaves the range of the bench dtype.
TEST(Defaults, UlpScaleIsExact) {
  const Tensor small = vector(DType::float16, {0.001, 0.01, 1});
  EXPECT_EQ(text(compare_one("matmul", small, small, compat()), Metric::ulp_max), "nan");
  EXPECT_EQ(text(compare_one("matmul", small, small), Metric::ulp_max), "0.0");
  const Tensor bench = vector(DType::float32, {1, 1e-38});
  const Tensor device = vector(DType::bfloat16, {1.0078125, 1.1e-38});
  EXPECT_EQ(text(compare_one("matmul", bench, device, compat()), Metric::ulp_max), "inf");
  const double spacing = std::ldexp(1, -126 - 7);
  const double expected = std::abs(device.item(1) - bench.item(1)) / spacing;
  EXPECT_NEAR(compare_one("matmul", bench, device)[Metric::ulp_max].value, expected, 1e-5 * expected);
  EXPECT_EQ(text(compare_one("matmul", vector(DType::float64, {3, 8}), vector(DType::float32, {3 + 0x1p-22, 8})),
                 Metric::ulp_max),
            "1.00000000000000");
}

// Section 15, 11: errors below 2.4e-4 vanish when they are squared in float16.
TEST(Defaults, RmseOfFloat16PairsDoesNotUnderflow) {
  const Tensor bench = vector(DType::float16, {0.125, 0.125});
  const Tensor device = vector(DType::float16, {0.125 + 0x1p-13, 0.125 + 0x1p-13});
  EXPECT_EQ(compare_one("softmax", bench, device, compat())[Metric::rmse].value, 0);
  EXPECT_NEAR(compare_one("softmax", bench, device)[Metric::rmse].value, 0x1p-13, 1e-7);
}

// Section 15, 12.
TEST(Defaults, QuantizedDifferencesDoNotWrap) {
  const Tensor bench = vector(DType::int8, {-128, 2});
  const Tensor device = vector(DType::int8, {127, 2});
  EXPECT_EQ(compare_one("npu_dynamic_quant", bench, device, compat()).status, Status::pass);
  const DetailsRow row = compare_one("npu_dynamic_quant", bench, device);
  EXPECT_EQ(row.status, Status::error);
  EXPECT_EQ(text(row, Metric::max_abs_error), "255");
  EXPECT_EQ(row.message, "Quantization type: Max abs error is 255.00, greater than 1, consider as error.\n");
  const Tensor flags = vector(DType::boolean, {0, 1});
  EXPECT_THROW(compare_one("npu_dynamic_quant", flags, flags, compat()), SkipError);
  EXPECT_EQ(compare_one("npu_dynamic_quant", flags, flags).status, Status::pass);
}

// Section 15, 13.
TEST(Defaults, Int16AndComplexAreComparable) {
  EXPECT_EQ(compare_one("add", vector(DType::int16, {1, 2}), vector(DType::int16, {1, 2})).status, Status::pass);
  EXPECT_EQ(compare_one("add", vector(DType::int64, {1, 2}), vector(DType::int16, {1, 3})).status, Status::error);
  EXPECT_EQ(compare_one("add", vector(DType::int16, {1}), vector(DType::int16, {1}), compat()).status, Status::error);
  using Complex = std::complex<double>;
  const std::vector<Complex> values = {{1, 2}, {3, -4}};
  const std::vector<std::complex<float>> wrong = {{1, 2}, {3, -4.5F}};
  const Dims shape = {2};
  const Tensor bench = Tensor::from<Complex>(DType::complex128, {shape.data(), 1}, values);
  const Tensor device = Tensor::from<std::complex<float>>(DType::complex64, {shape.data(), 1}, wrong);
  EXPECT_EQ(compare_one("fft", bench, bench.to(DType::complex64)).status, Status::pass);
  const DetailsRow row = compare_one("fft", bench, device);
  EXPECT_EQ(row.status, Status::error);
  EXPECT_EQ(row.device_dtype, "torch.complex64");
  EXPECT_EQ(row.shape, "(2,)");
  EXPECT_EQ(text(row, Metric::max_abs_error), "0.50000000000000");
}

// precision_metrics.md 3: bool and uint8 are one family, int8, int32 and int64 another.
TEST(Defaults, IntegersAreComparedWithinTheirFamily) {
  const auto message = [](DType bench, DType device) {
    return compare_one("argmax", vector(bench, {0, 1}), vector(device, {0, 1})).message;
  };
  EXPECT_EQ(message(DType::int64, DType::uint8),
            "Bench out dtype is int64 but npu output dtype is uint8, cannot compare.");
  EXPECT_EQ(message(DType::int64, DType::int16),
            "Bench out dtype is int64 but npu output dtype is int16, cannot compare.");
  EXPECT_EQ(message(DType::int16, DType::int32),
            "Bench out dtype is int16 but npu output dtype is int32, cannot compare.");
  EXPECT_EQ(message(DType::uint8, DType::int8),
            "Bench out dtype is uint8 but npu output dtype is int8, cannot compare.");
  EXPECT_EQ(compare_one("eq", vector(DType::boolean, {0, 1}), vector(DType::uint8, {0, 1})).status, Status::pass);
  EXPECT_EQ(compare_one("add", vector(DType::uint8, {0, 1}), vector(DType::uint8, {0, 1})).status, Status::pass);
  EXPECT_EQ(compare_one("argmax", vector(DType::int64, {0, 1}), vector(DType::int32, {0, 1})).status, Status::pass);
}

TEST(Defaults, BFloat16BenchIsWidened) {
  const Tensor bench = vector(DType::bfloat16, {1, 2});
  EXPECT_EQ(compare_one("add", bench, vector(DType::float32, {1, 2})).status, Status::pass);
  EXPECT_THROW(compare_one("add", bench, vector(DType::float32, {1, 2}), compat()), SkipError);
}

}  // namespace
}  // namespace msrun::testing
