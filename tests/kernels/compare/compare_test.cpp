// The verdicts of compare.h: the worked examples of precision_metrics.md 13, every default that departs from upstream,
// the status walk, structures, dropout, ties and gradients.
#include "kernels/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/compare/metrics.h"

namespace msrun {
namespace {

using ::testing::HasSubstr;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Tensor tensor(DType dtype, const Dims& shape, const std::vector<double>& values) {
  return Tensor::from<double>(DType::float64, {shape.data(), shape.size()}, values).to(dtype);
}
Tensor vector(DType dtype, const std::vector<double>& values) {
  return tensor(dtype, {static_cast<std::int64_t>(values.size())}, values);
}

CompareOptions compat() {
  CompareOptions options;
  options.compat_msprobe = true;
  return options;
}

const OperatorTraits& traits_of_call(const std::string& full_name) {
  const auto name = ApiName::parse(full_name);
  return name ? traits_of(*name) : ordinary_traits;
}

Comparison compare_call(const std::string& full_name, const Value& bench, const Value& device,
                        const CompareOptions& options = {}, const Value* first_input = nullptr) {
  return compare_outputs(full_name, traits_of_call(full_name), bench, device, false, options, first_input);
}

DetailsRow compare_one(const std::string& api, const Value& bench, const Value& device,
                       const CompareOptions& options = {}) {
  const Comparison comparison = compare_call("Torch." + api + ".0", bench, device, options);
  EXPECT_EQ(comparison.rows.size(), 1U);
  return comparison.rows.empty() ? DetailsRow{} : comparison.rows.front();
}

std::string text(const DetailsRow& row, Metric metric) { return cell_text(row[metric], 14); }

struct Example {
  int number;
  const char* api;
  Standard standard;
  const char* bench;
  const char* device;
  const char* cells;
  Status status;
};

// The table of section 13, rows as they stand there.
const std::vector<Example> examples = {
    {1, "softmax", Standard::benchmark, "float32 [1, 2, 3, 4]", "float16 [1, 2, 3, 4]",
     "cos=1.00000000000000, maxabs=0.0, EB=0.00000000000000, rmse=0.00000000000000, small=0, maxrel=0.0, meanrel=0.0",
     Status::pass},
    {2, "softmax", Standard::benchmark, "float32 [1, 2, 3, 4]", "float16 [1.01, 2, 3, 4]",
     "cos=0.99999846452807, maxabs=0.009765625, d100=1.00000000000000, d1000=0.75000000000000, EB=0.25000000000000, "
     "rmse=0.00488299560356, small=0, maxrel=0.009765624, meanrel=0.002441406",
     Status::warning},
    {3, "softmax", Standard::benchmark, "float32 [1, 2, 3, 4]", "bfloat16 [1.01, 2, 3, 4]",
     "cos=0.99999901716922, maxabs=0.0078125, d100=1.00000000000000, d1000=0.75000000000000, EB=0.25000000000000, "
     "rmse=0.00390639648285, small=0, maxrel=0.007782101, meanrel=0.0019455253",
     Status::warning},
    {4, "softmax", Standard::benchmark, "float64 [1, 2, 3, 4]", "float32 [1.01, 2, 3, 4]",
     "cos=0.99999838996938, maxabs=0.00999999046326, d1000=0.75000000000000, d10000=0.75000000000000, "
     "EB=0.25000000000000, rmse=0.00500018272950, small=0, maxrel=0.00999999046326, meanrel=0.00249999761581",
     Status::error},
    {5, "softmax", Standard::benchmark, "float16 [1, 2, 3, 4]", "float16 [1.01, 2, 3, 4]",
     "cos=0.99999846452807, maxabs=0.009766, d100=1.00000000000000, d1000=0.75000000000000, EB=0.25000000000000, "
     "rmse=0.00488299560356, small=0, maxrel=0.00976, meanrel=0.00244",
     Status::warning},
    {6, "softmax", Standard::benchmark, "float64 [1, 2, 3, 4]", "float64 [1.01, 2, 3, 4]",
     "cos=0.99999838996631, maxabs=0.01000000000000, d1000=0.75000000000000, d10000=0.75000000000000", Status::error},
    {7, "softmax", Standard::benchmark, "float64 [10, 20, 30, 40]", "float32 [10.0015, 20, 30, 40]",
     "cos=0.99999999963744, maxabs=0.00150012969971, d1000=1.00000000000000, d10000=0.75000000000000, "
     "EB=0.25000000000000, rmse=0.00075009297699, small=0, maxrel=0.00015001296997, meanrel=0.00003750324249",
     Status::warning},
    {8, "softmax", Standard::benchmark, "float64 [1, -2, 3, -4]", "float32 [-1, 2, -3, 4]",
     "cos=-1.00000000000000, EB=0.00000000000000, rmse=5.47743096887122, small=0, maxrel=2.00000000000000, "
     "meanrel=2.00000000000000",
     Status::error},
    {9, "softmax", Standard::benchmark, "float32 [0, 0, 0]", "float16 [0, 0, 0]",
     "maxabs=0.0, EB=0.00000000000000, rmse=0.00000000000000, small=0.00000000000000, maxrel=0, meanrel=0",
     Status::pass},
    {10, "softmax", Standard::benchmark, "float32 [0, 0, 0]", "float16 [1, 2, 3]",
     "EB=1.00000000000000, rmse=0.00000000000000, small=1.00000000000000, maxrel=0, meanrel=0", Status::error},
    {11, "softmax", Standard::benchmark, "float32 [1, 2, 3]", "float16 [0, 0, 0]",
     "EB=1.00000000000000, rmse=2.16031887090922, small=0, maxrel=1.0, meanrel=1.0", Status::error},
    {12, "softmax", Standard::benchmark, "float32 1.5", "float16 2.25",
     "maxabs=0.75, d100=0.00000000000000, EB=1.00000000000000, rmse=0.75000000374963, small=0, "
     "maxrel=0.49999997019768, meanrel=0.49999997019768",
     Status::error},
    {13, "softmax", Standard::benchmark, "float32 [100]", "float16 [100.5]",
     "maxabs=0.5, d100=1.00000000000000, d1000=0.00000000000000, EB=1.00000000000000, rmse=0.50000000249975, small=0, "
     "maxrel=0.005, meanrel=0.005",
     Status::warning},
    {14, "softmax", Standard::benchmark, "float64 [nan, nan]", "float32 [nan, nan]",
     "cos=nan, maxabs=nan, d1000=0.00000000000000, d10000=0.00000000000000, EB=0.00000000000000, "
     "rmse=0.00000000000000, small=0, maxrel=0, meanrel=0",
     Status::error},
    {15, "softmax", Standard::benchmark, "float32 [inf, 1, 2]", "float16 [inf, 1, 2]",
     "cos=nan, maxabs=nan, d100=0.66666666666667, EB=0.00000000000000, rmse=0.00000000000000, small=0, maxrel=0.0, "
     "meanrel=0.0",
     Status::error},
    {16, "softmax", Standard::benchmark, "float64 [1, 2, nan, 4]", "float32 [1, 2, 3, 4]",
     "cos=nan, maxabs=nan, d1000=0.75000000000000, d10000=0.75000000000000, EB=0.00000000000000, "
     "rmse=0.00000000000000, small=0, maxrel=0.00000000000000, meanrel=0.00000000000000",
     Status::error},
    {17, "softmax", Standard::benchmark, "float32 [70000, 1, 2, 3]", "float16 [inf, 1, 2, 3]",
     "cos=nan, maxabs=inf, d100=0.75000000000000, EB=0.00000000000000, rmse=0.00000000000000, small=0, maxrel=0.0, "
     "meanrel=0.0",
     Status::error},
    {18, "softmax", Standard::benchmark, "float32 [0.0001, -3e-05, 7e-07, 0]",
     "float16 [0.00011, -3e-05, 9e-07, 1e-06]",
     "cos=0.99963993428368, maxabs=9.970572e-06, EB=0.75000000000000, rmse=0.00000000000000, small=1.00000000000000, "
     "maxrel=0, meanrel=0",
     Status::pass},
    {19, "softmax", Standard::benchmark, "float64 [1e-07, 2e-07, 1]", "float32 [1.5e-07, 2e-07, 1]",
     "cos=1.00000000000000, maxabs=0.00000005000001, EB=0.33333333333333, rmse=0.00000000000000, "
     "small=0.50000000000000, maxrel=0.00000000000000, meanrel=0.00000000000000",
     Status::pass},
    {20, "softmax", Standard::absolute_threshold, "float32 [1, 2, 0.0001, inf]", "float16 [1.002, 2, 0.00012, inf]",
     "cos=nan, maxabs=nan, d100=0.50000000000000, infnan=0.00000000000000, rel=0.50000000000000, abs=1.00000000000000",
     Status::error},
    {21, "softmax", Standard::absolute_threshold, "float32 [1, 2, 0.0001, inf]", "float16 [1.002, 2, 0.00012, 1]",
     "cos=nan, maxabs=inf, d100=0.50000000000000, infnan=0.00000000000000, rel=0.50000000000000, abs=1.00000000000000",
     Status::error},
    {22, "softmax", Standard::absolute_threshold, "float64 [1, nan, 5e-07, 100]", "float32 [1, nan, 6e-07, 100.001]",
     "cos=nan, maxabs=nan, d1000=0.50000000000000, d10000=0.50000000000000, infnan=0.00000000000000, "
     "rel=0.50000000000000, abs=1.00000000000000",
     Status::error},
    {23, "softmax", Standard::absolute_threshold, "float32 [1, 2, 0.0001, 0.0001]",
     "bfloat16 [1.002, 2, 0.00012, 0.0001]",
     "cos=0.99999999995934, maxabs=2.0162966e-05, infnan=0, rel=0.00000000000000, abs=1.00000000000000", Status::pass},
    {24, "softmax", Standard::ulp, "float32 [1, 0, 1024, 1e-07]", "float16 [1.001, 0.001, 1025, 2e-07]",
     "cos=0.99999999999952, maxabs=1.0, d100=0.50000000000000, ulpmax=1.3222784, ulpmean=1.0866731, "
     "ulp>=0.50000000000000",
     Status::error},
    {25, "softmax", Standard::ulp, "float32 [1, 0, 256, 1e-38]", "bfloat16 [1.0078125, 0.0078125, 258, 1.1e-38]",
     "cos=0.99999999954154, maxabs=2.0, d100=0.75000000000000, ulpmax=inf, ulpmean=inf, ulp>=0.25000000000000",
     Status::error},
    {26, "softmax", Standard::ulp, "float64 [1, 0, 3, 1000]", "float32 [1.0000001192092896, 1e-07, 3.0001, 1000]",
     "cos=1.00000000000000, maxabs=0.00009989738464, ulpmax=419.00000000000000, ulpmean=105.20971520245075, "
     "ulp>=0.25000000000000",
     Status::pass},
    {27, "softmax", Standard::ulp, "float64 [1, inf, 3, 2]", "float32 [1, inf, 3, 2]",
     "cos=nan, maxabs=nan, d1000=0.75000000000000, d10000=0.75000000000000, ulpmax=nan, ulpmean=nan, "
     "ulp>=0.00000000000000",
     Status::error},
    {28, "softmax", Standard::accumulative_error, "float32 [0.5, 2, 3, -4]", "float16 [0.51, 2, 3.1, -4]",
     "cos=0.99988508767566, maxabs=0.099609375, d100=0.50000000000000, EB=0.50000000000000, infnan=0, "
     "rel=0.33333333333333, abs=1.00000000000000",
     Status::error},
    {29, "softmax", Standard::dual_1000, "float32 [1, 2, 3, 4]", "float16 [1.002, 2, 3, 4]",
     "cos=0.99999993854900, maxabs=0.001953125, d100=1.00000000000000, d1000=0.75000000000000", Status::warning},
    {30, "softmax", Standard::binary_consistency, "float64 [1, 2, 3, nan]", "float32 [1, 2, 4, nan]",
     "cos=nan, maxabs=nan, d1000=0.50000000000000, d10000=0.50000000000000, err=0.50000000000000", Status::error},
    {31, "softmax", Standard::benchmark, "int64 [1, 2, 3, 4]", "int32 [1, 2, 0, 4]", "err=0.25000000000000",
     Status::error},
    {32, "softmax", Standard::benchmark, "bool [1, 0]", "bool [1, 1]", "err=0.50000000000000", Status::error},
    {33, "npu_dynamic_quant", Standard::benchmark, "int8 [1, 2, 3]", "int8 [1, 3, 2]", "maxabs=1", Status::pass},
    {34, "npu_dynamic_quant", Standard::benchmark, "int8 [1, 2, 3]", "int8 [1, 4, 2]", "maxabs=2", Status::error},
};

// "float32 [1, 2]", "float32 1.5"
Tensor parse_tensor(const std::string& description) {
  const std::size_t blank = description.find(' ');
  const DType dtype = parse_dtype(description.substr(0, blank)).value();
  std::string numbers = description.substr(blank + 1);
  const bool scalar = numbers.front() != '[';
  std::erase_if(numbers, [](char c) { return c == '[' || c == ']'; });
  std::vector<double> values;
  std::istringstream stream(numbers);
  for (std::string number; std::getline(stream, number, ',');) values.push_back(std::strtod(number.c_str(), nullptr));
  return scalar ? tensor(dtype, {}, values) : vector(dtype, values);
}

std::map<Metric, std::string> parse_cells(const std::string& cells) {
  static const std::map<std::string, Metric> names = {{"cos", Metric::cosine},
                                                      {"maxabs", Metric::max_abs_error},
                                                      {"d100", Metric::dual_100},
                                                      {"d1000", Metric::dual_1000},
                                                      {"d10000", Metric::dual_10000},
                                                      {"err", Metric::binary_error_rate},
                                                      {"EB", Metric::error_balance},
                                                      {"rmse", Metric::rmse},
                                                      {"small", Metric::small_value_error_ratio},
                                                      {"maxrel", Metric::max_relative_error},
                                                      {"meanrel", Metric::mean_relative_error},
                                                      {"infnan", Metric::inf_nan_error_rate},
                                                      {"rel", Metric::relative_error_rate},
                                                      {"abs", Metric::absolute_error_rate},
                                                      {"ulpmax", Metric::ulp_max},
                                                      {"ulpmean", Metric::ulp_mean},
                                                      {"ulp>", Metric::ulp_over_limit}};
  std::map<Metric, std::string> result;
  std::istringstream stream(cells);
  for (std::string item; std::getline(stream >> std::ws, item, ',');) {
    const std::size_t equals = item.rfind('=');
    result[names.at(item.substr(0, equals))] = item.substr(equals + 1);
  }
  return result;
}

TEST(WorkedExamples, StatusAndCells) {
  for (const Example& example : examples) {
    SCOPED_TRACE(example.number);
    const DetailsRow row = compare_tensors(example.api, parse_tensor(example.bench), parse_tensor(example.device),
                                           example.standard, compat());
    EXPECT_EQ(row.status, example.status);
    const auto expected = parse_cells(example.cells);
    for (int i = 0; i < metric_count; ++i) {
      const auto metric = static_cast<Metric>(i);
      const auto cell = expected.find(metric);
      const std::string wanted = cell == expected.end() ? " " : cell->second;
      // numpy adds up means in float32, here they are rounded once.
      const bool rounded_mean = metric == Metric::mean_relative_error && row[metric].kind == Cell::Kind::fp32;
      if (rounded_mean) {
        EXPECT_NEAR(row[metric].value, std::stod(wanted), 2e-6 * std::stod(wanted));
      } else {
        EXPECT_EQ(text(row, metric), wanted) << metric_title(metric, true);
      }
    }
  }
}

TEST(WorkedExamples, OnlyTheOnesWithNonFiniteDataChangeByDefault) {
  for (const Example& example : examples) {
    SCOPED_TRACE(example.number);
    const std::string data = std::string(example.bench) + example.device;
    if (data.find("inf") != std::string::npos || data.find("nan") != std::string::npos) continue;
    const Tensor bench = parse_tensor(example.bench);
    const Tensor device = parse_tensor(example.device);
    EXPECT_EQ(compare_tensors(example.api, bench, device, example.standard, {}).status, example.status);
  }
}

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
  EXPECT_STREQ(operator_level("gelu").name, "L0");
  EXPECT_STREQ(operator_level("GELU").name, "L2");
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

TEST(Defaults, BFloat16BenchIsWidened) {
  const Tensor bench = vector(DType::bfloat16, {1, 2});
  EXPECT_EQ(compare_one("add", bench, vector(DType::float32, {1, 2})).status, Status::pass);
  EXPECT_THROW(compare_one("add", bench, vector(DType::float32, {1, 2}), compat()), SkipError);
}

Tensor right() { return vector(DType::float32, {1, 2, 3}); }
Tensor wrong() { return vector(DType::float32, {1, 2, 4}); }
Tensor bench() { return vector(DType::float64, {1, 2, 3}); }

Comparison compare_lists(const Value& expected, const Value& actual, const CompareOptions& options = {}) {
  return compare_call("Torch.split.0", expected, actual, options);
}

// D5, DEV-15.
TEST(Structures, AnyErrorMakesTheDirectionAnError) {
  CompareOptions mild;
  const Value expected = List{bench(), vector(DType::float64, {100, 200, 300}), None{}};
  const Value actual = List{wrong(), vector(DType::float32, {100, 200, 300.1}), None{}};
  const Comparison comparison = compare_lists(expected, actual, mild);
  ASSERT_EQ(comparison.rows.size(), 3U);
  EXPECT_EQ(comparison.rows[1].status, Status::warning);
  EXPECT_EQ(comparison.rows[2].status, Status::skip);
  EXPECT_EQ(comparison.status, Status::error);
  EXPECT_EQ(compare_lists(expected, actual, compat()).status, Status::warning) << "upstream: the last one wins";
}

TEST(Structures, SkippedRowsAloneArePass) {
  EXPECT_EQ(compare_lists(List{None{}}, List{None{}}).status, Status::pass);
  EXPECT_EQ(compare_lists(None{}, None{}).rows.front().message, "Bench output is None, skip this test.");
  EXPECT_TRUE(compare_lists(List{}, List{}).rows.empty());
}

// DEV-14.
TEST(Structures, MissingDeviceOutputsAreAnError) {
  const Comparison comparison = compare_lists(List{bench(), bench()}, List{right()});
  ASSERT_EQ(comparison.rows.size(), 1U);
  EXPECT_EQ(comparison.status, Status::error);
  EXPECT_EQ(comparison.rows.front().message, "bench and npu output structure is different.");
  EXPECT_THROW(compare_lists(List{bench(), bench()}, List{right()}, compat()), SkipError);
  EXPECT_EQ(compare_lists(List{bench()}, List{right(), wrong()}).status, Status::pass) << "surplus outputs are ignored";
}

// DEV-13.
TEST(Structures, NestedOutputsAreFlattenedDepthFirst) {
  const Value expected = List{bench(), List{bench(), bench()}, Dict{{"a", bench()}, {"b", std::int64_t{1}}}};
  const Value actual = List{right(), List{right(), wrong()}, Dict{{"b", std::int64_t{1}}, {"a", right()}}};
  const Comparison comparison = compare_lists(expected, actual);
  ASSERT_EQ(comparison.rows.size(), 5U);
  EXPECT_EQ(comparison.rows[2].status, Status::error);
  EXPECT_EQ(comparison.rows[3].status, Status::pass);
  EXPECT_EQ(comparison.rows[4].device_dtype, "<class 'int'>");
  const Comparison upstream = compare_lists(expected, actual, compat());
  ASSERT_EQ(upstream.rows.size(), 3U);
  EXPECT_EQ(upstream.rows[1].message, "Unexpected output type in compare_core: <class 'list'>");
}

TEST(Structures, DifferentKindsAreErrors) {
  EXPECT_EQ(compare_one("f", bench(), None{}).message, "bench and npu output type is different.");
  EXPECT_EQ(compare_one("f", bench(), Tensor()).message, "bench and npu output type is different.");
  EXPECT_EQ(compare_one("f", List{bench()}, right()).message, "bench and npu output type is different.");
  EXPECT_EQ(compare_one("f", std::int64_t{1}, true).message, "bench and npu output type is different.");
  EXPECT_EQ(compare_one("f", true, std::int64_t{1}).status, Status::pass) << "in Python a bool is an int";
  EXPECT_EQ(compare_one("f", true, std::int64_t{2}).status, Status::error);
  EXPECT_EQ(compare_one("f", Dict{{"a", None{}}}, Dict{{"b", None{}}}).message,
            "bench and npu output dict keys are different.");
  const Dict longer{{"a", None{}}, {"b", None{}}};
  EXPECT_EQ(compare_one("f", Dict{{"a", None{}}}, longer).message, "bench and npu output dict keys are different.");
  EXPECT_EQ(compare_one("f", longer, Dict{{"a", None{}}}).status, Status::error);
  EXPECT_EQ(compare_one("f", DType::int64, DType::int64).message,
            "Unexpected output type in compare_core: <class 'torch.dtype'>");
}

TEST(Structures, VarsAndViewsAreTensors) {
  Tape tape;
  const Tensor table = tensor(DType::float32, {3, 2}, {1, 10, 2, 20, 3, 30});
  EXPECT_EQ(compare_one("f", bench(), tape.constant(table.select(1, 0))).status, Status::pass);
  const Tensor transposed = table.transpose(0, 1);
  const Tensor plain = tensor(DType::float64, {2, 3}, {1, 2, 3, 10, 20, 30});
  EXPECT_EQ(compare_one("f", plain, transposed)[Metric::max_abs_error].value, 0);
  const Dims repeated = {4, 3};
  EXPECT_EQ(compare_one("f", bench().expand({repeated.data(), 2}), right().expand({repeated.data(), 2})).status,
            Status::pass);
}

TEST(Structures, NamesHaveThreeOrFourSegments) {
  EXPECT_EQ(short_api_name("Functional.softmax.0"), "softmax");
  EXPECT_EQ(short_api_name("Torch.linalg.inv.12"), "linalg.inv");
  EXPECT_EQ(short_api_name("Aten.add.Tensor.3"), "add");
  EXPECT_EQ(short_api_name("Aten.add.3"), "add");
  EXPECT_THROW(short_api_name("Torch.softmax"), SkipError);
  try {
    compare_call("a.b.c.d.e", None{}, None{});
    FAIL();
  } catch (const SkipError& error) {
    EXPECT_STREQ(error.what(), "API name a.b.c.d.e has not been adapted.");
  }
}

TEST(Dropout, ComparesTheShareOfZeros) {
  const auto zeros = [](int count, int total) {
    std::vector<double> values(static_cast<std::size_t>(total), 1);
    std::fill_n(values.begin(), count, 0);
    return vector(DType::float32, values);
  };
  const auto status = [](const Value& a, const Value& b, const CompareOptions& options = {}) {
    const Comparison comparison = compare_call("Functional.dropout.0", a, b, options);
    EXPECT_TRUE(comparison.rows.empty());
    return comparison.status;
  };
  EXPECT_EQ(status(zeros(50, 100), zeros(41, 100)), Status::pass);
  EXPECT_EQ(status(zeros(50, 100), zeros(40, 100)), Status::error) << "the limit itself fails";
  EXPECT_EQ(status(zeros(50, 100), zeros(60, 100)), Status::error) << "too many zeros";
  EXPECT_EQ(status(zeros(50, 100), zeros(50, 100).reshape(Dims{10, 10})), Status::error) << "another shape";
  std::vector<double> negative(100, 1);
  std::fill_n(negative.begin(), 50, -1);
  EXPECT_EQ(status(zeros(50, 100), vector(DType::float32, negative)), Status::error) << "no zeros";
  EXPECT_EQ(status(zeros(0, 99), zeros(99, 99)), Status::pass) << "too few elements to judge";
  EXPECT_EQ(status(List{zeros(50, 100), None{}}, List{zeros(0, 100), None{}}), Status::error) << "first output, DEV-6";
  EXPECT_THROW(status(List{zeros(50, 100)}, List{zeros(0, 100)}, compat()), SkipError);
  const auto gradients = compare_gradients("Functional.dropout.0", traits_of_call("Functional.dropout.0"),
                                           {zeros(50, 100)}, {zeros(10, 100)}, false, {});
  ASSERT_TRUE(gradients.has_value());
  EXPECT_EQ(gradients->status, Status::error);
}

TEST(Gradients, OneRowEachAndNothingWithoutGradients) {
  EXPECT_FALSE(compare_gradients("Torch.mul.0", ordinary_traits, {}, {right()}, false, {}).has_value());
  EXPECT_FALSE(compare_gradients("Torch.mul.0", ordinary_traits, {bench()}, {}, false, {}).has_value());
  const auto comparison = compare_gradients("Torch.mul.0", ordinary_traits, {bench(), None{}, bench()},
                                            {right(), None{}, wrong()}, false, {});
  ASSERT_TRUE(comparison.has_value());
  ASSERT_EQ(comparison->rows.size(), 3U);
  EXPECT_EQ(comparison->rows[1].status, Status::skip);
  EXPECT_EQ(comparison->status, Status::error);
  const auto none = compare_gradients("Torch.mul.0", ordinary_traits, {None{}}, {None{}}, false, {});
  EXPECT_EQ(none->status, Status::pass);
  const Comparison skip = skipped("Multiple backward is not supported.");
  EXPECT_EQ(skip.status, Status::skip);
  EXPECT_EQ(skip.rows.front().message, "Multiple backward is not supported.");
}

class Ties : public ::testing::Test {
 protected:
  // Values 5 5 3 along the only axis, sorted; the input is 3 5 5.
  Tensor input_ = vector(DType::float32, {3, 5, 5});
  Value bench_ = List{vector(DType::float64, {5, 5, 3}), vector(DType::int64, {1, 2, 0})};

  Comparison sort(const std::vector<double>& indices, bool with_input, const CompareOptions& options = {}) {
    const Value device = List{vector(DType::float32, {5, 5, 3}), vector(DType::int64, indices)};
    const Value input = input_;
    return compare_call("Torch.sort.0", bench_, device, options, with_input ? &input : nullptr);
  }
};

TEST_F(Ties, EqualElementsMayChangePlaces) {
  for (const bool with_input : {false, true}) {
    const Comparison comparison = sort({2, 1, 0}, with_input);
    EXPECT_EQ(comparison.status, Status::pass);
    EXPECT_THAT(comparison.rows[1].message, HasSubstr("2 indices differ from the benchmark's but select equal values"));
    EXPECT_EQ(text(comparison.rows[1], Metric::binary_error_rate), "0.00000000000000");
  }
  EXPECT_EQ(sort({2, 1, 0}, true, compat()).status, Status::error);
}

TEST_F(Ties, AnIndexUsedTwiceIsWrong) {
  EXPECT_EQ(sort({2, 2, 0}, false).status, Status::error);
  EXPECT_EQ(sort({2, 2, 0}, true).status, Status::error);
}

TEST_F(Ties, WithTheInputAnIndexMustSelectTheValue) {
  EXPECT_EQ(sort({0, 2, 1}, true).status, Status::error);
  EXPECT_EQ(sort({1, 2, 7}, true).status, Status::error) << "out of range";
  EXPECT_EQ(sort({1, 2, -1}, false).status, Status::error);
}

// Of a square input the values tell along which axis indices select: here along the first.
TEST_F(Ties, TheAxisOfIndicesAloneFollowsFromTheInput) {
  const auto status = [](const char* api, const std::vector<double>& input, const Tensor& bench, const Tensor& device) {
    const Value given = tensor(DType::float32, {2, 2}, input);
    return compare_call(api, bench, device, {}, &given).status;
  };
  const auto square = [](const std::vector<double>& indices) { return tensor(DType::int64, {2, 2}, indices); };
  const Tensor first = vector(DType::int64, {0, 1});
  const Tensor other = vector(DType::int64, {1, 1});
  EXPECT_EQ(status("Torch.argmax.0", {5, 6, 5, 9}, first, other), Status::pass);
  EXPECT_EQ(status("Torch.argmin.0", {-5, -6, -5, -9}, first, other), Status::pass);
  EXPECT_EQ(status("Torch.argsort.0", {5, 6, 5, 9}, square({0, 0, 1, 1}), square({1, 0, 0, 1})), Status::pass);
  EXPECT_EQ(status("Torch.argsort.0", {5, 4, 5, 3}, square({0, 1, 1, 0}), square({1, 1, 0, 0})), Status::pass);
}

TEST_F(Ties, IndicesOfAnotherShapeAreNotExcused) {
  const Value device = List{vector(DType::float32, {5, 5, 3}), tensor(DType::int64, {1, 3}, {2, 1, 0})};
  EXPECT_EQ(compare_call("Torch.sort.0", bench_, device).status, Status::error);
}

TEST_F(Ties, AlmostEqualElementsAreNotTied) {
  const Value input = vector(DType::float32, {3, 5, 5.0005F});
  const Tensor last = Tensor::scalar(std::int64_t{2});
  EXPECT_EQ(compare_call("Torch.argmax.0", last, Tensor::scalar(std::int64_t{1}), {}, &input).status, Status::error);
}

TEST_F(Ties, SomeIndicesUsedTwiceAreWrong) {
  const Value bench = List{vector(DType::float64, {5, 5, 5}), vector(DType::int64, {0, 1, 2})};
  const Value device = List{vector(DType::float32, {5, 5, 5}), vector(DType::int64, {1, 1, 2})};
  EXPECT_EQ(compare_call("Torch.sort.0", bench, device).status, Status::error);
}

TEST_F(Ties, ValuesMustAgreeExactly) {
  const Value device = List{vector(DType::float32, {5, 4.9999995, 3}), vector(DType::int64, {2, 1, 0})};
  const Comparison comparison = compare_call("Torch.sort.0", bench_, device);
  EXPECT_EQ(comparison.rows[0].status, Status::pass) << "close enough as values";
  EXPECT_EQ(comparison.rows[1].status, Status::error);
}

TEST_F(Ties, TheAxisFollowsFromTheInput) {
  // Columns of {{1, 2}, {1, 0}}: max over axis 0.
  const Value input = tensor(DType::float32, {2, 2}, {1, 2, 1, 0});
  const Value bench = List{vector(DType::float64, {1, 2}), vector(DType::int64, {0, 0})};
  const Value good = List{vector(DType::float32, {1, 2}), vector(DType::int64, {1, 0})};
  const Value bad = List{vector(DType::float32, {1, 2}), vector(DType::int64, {0, 1})};
  EXPECT_EQ(compare_call("Torch.max.0", bench, good, {}, &input).status, Status::pass);
  EXPECT_EQ(compare_call("Torch.max.0", bench, bad, {}, &input).status, Status::error);
}

TEST_F(Ties, IndicesAloneNeedTheInput) {
  const Value input = tensor(DType::float32, {2, 3}, {7, 1, 7, 0, 4, 4});
  const auto status = [&](const char* api, const Tensor& bench, const Tensor& device, const Value* given) {
    return compare_call(api, bench, device, {}, given).status;
  };
  const Tensor rows = vector(DType::int64, {0, 1});
  EXPECT_EQ(status("Torch.argmax.0", rows, vector(DType::int64, {2, 2}), &input), Status::pass);
  EXPECT_EQ(status("Torch.argmax.0", rows, vector(DType::int64, {2, 2}), nullptr), Status::error);
  EXPECT_EQ(status("Torch.argmax.0", rows, vector(DType::int64, {1, 2}), &input), Status::error);
  const Comparison half = compare_call("Torch.argmax.0", rows, vector(DType::int64, {2, 0}), {}, &input);
  EXPECT_EQ(half.status, Status::error) << "one is tied, one is wrong";
  EXPECT_EQ(text(half.rows[0], Metric::binary_error_rate), "0.50000000000000");
  EXPECT_EQ(status("Torch.argmax.0", Tensor::scalar(std::int64_t{0}), Tensor::scalar(std::int64_t{2}), &input),
            Status::pass);
  EXPECT_EQ(status("Torch.argmin.0", vector(DType::int64, {1, 0}), vector(DType::int64, {1, 1}), &input),
            Status::error);
  const Tensor order = tensor(DType::int64, {2, 3}, {1, 0, 2, 0, 1, 2});
  EXPECT_EQ(status("Torch.argsort.0", order, tensor(DType::int64, {2, 3}, {1, 2, 0, 0, 2, 1}), &input), Status::pass);
  EXPECT_EQ(status("Torch.argsort.0", order, tensor(DType::int64, {2, 3}, {1, 2, 2, 0, 2, 1}), &input), Status::error);
}

// Long tensors: several blocks, a tail that does not fill the lanes, and values whose squares exceed float64.
TEST(Metrics, ManyBlocks) {
  const std::int64_t count = 3 * 512 + 77;
  std::vector<double> bench(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) bench[static_cast<std::size_t>(i)] = static_cast<double>(i % 13 + 1);
  std::vector<double> device = bench;
  device.back() += 0.5;
  device[600] -= 0.25;
  const FloatMetrics metrics =
      float_metrics(vector(DType::float64, bench), vector(DType::float32, device), Standard::benchmark, false);
  const auto cell = [&](Metric metric) { return metrics.cells[static_cast<std::size_t>(metric)].value; };
  const auto n = static_cast<double>(count);
  EXPECT_EQ(metrics.max_abs_error.value, 0.5);
  EXPECT_EQ(cell(Metric::error_balance), 0);
  EXPECT_NEAR(cell(Metric::rmse), std::sqrt((0.25 + 0.0625) / n * (n / (n + 0.0001) + 0.0001)), 1e-15);
  const double relative = 0.5 / (bench.back() + 0x1p-52) + 0.25 / (bench[600] + 0x1p-52);
  EXPECT_NEAR(cell(Metric::mean_relative_error), relative / n, 1e-16);
  EXPECT_EQ(metrics.within_1000, (n - 2) / n);
}

TEST(Metrics, CosineOfHugeValuesIsRescaled) {
  const Tensor bench = vector(DType::float64, {3e200, 4e200, nan});
  const Tensor device = vector(DType::float64, {3e200, -4e200, nan});
  EXPECT_NEAR(float_metrics(bench, device, Standard::benchmark, false).cosine.value, -7.0 / 25, 1e-15);
}

TEST(Metrics, ExactlyOneHalfUlpCasesOfFloat16Rounding) {
  // 2049 lies between two float16 values and rounds to the even one, 2048: equal to the device, so no imbalance.
  const FloatMetrics metrics =
      float_metrics(vector(DType::float32, {2049, 1}), vector(DType::float16, {2048, 1}), Standard::benchmark, false);
  EXPECT_EQ(metrics.cells[static_cast<std::size_t>(Metric::error_balance)].value, 0);
}

}  // namespace
}  // namespace msrun
