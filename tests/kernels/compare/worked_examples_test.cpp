// The worked examples of precision_metrics.md 13.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/kernels/compare/support.h"

namespace msrun::testing {
namespace {

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

}  // namespace
}  // namespace msrun::testing
