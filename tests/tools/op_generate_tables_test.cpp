// What scripts of op_generate print, made natively: numbers and texts as Python writes them, and the tables of a
// comparison.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <regex>
#include <sstream>

#include "kernels/tensor/tensor.h"
#include "tools/op_generate/python_text.h"
#include "tools/op_generate/table.h"
#include "tools/op_generate/torch_sum.h"

namespace msrun::op_generate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

TEST(OpGeneratePython, NumbersAreThoseOfPythonsRepr) {
  const std::vector<std::pair<double, std::string>> expected{{0, "0.0"},
                                                             {-0.0, "-0.0"},
                                                             {3, "3.0"},
                                                             {0.1, "0.1"},
                                                             {1e-4, "0.0001"},
                                                             {1e-5, "1e-05"},
                                                             {1e16, "1e+16"},
                                                             {1e15, "1000000000000000.0"},
                                                             {1.5e300, "1.5e+300"},
                                                             {5e-324, "5e-324"},
                                                             {123456.75, "123456.75"},
                                                             {infinite, "inf"},
                                                             {-infinite, "-inf"},
                                                             {std::nan(""), "nan"},
                                                             {8.145308845210285e-08, "8.145308845210285e-08"}};
  for (const auto& [value, text] : expected) EXPECT_EQ(python_float(value), text);
}

TEST(OpGeneratePython, TextCannotLeaveItsQuotes) {
  EXPECT_EQ(string_literal("a\"); import os; (\"\\\n\r\t\x01"), R"("a\"); import os; (\"\\\n\r\t\u0001")");
  EXPECT_EQ(string_literal("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"), R"("\u00e4\u20ac\ud83d\ude00")");
  EXPECT_EQ(string_literal("\xFFz"), R"("\ufffdz")");
}

Tensor floats(DType dtype, const std::vector<double>& values) {
  const std::int64_t size = static_cast<std::int64_t>(values.size());
  return Tensor::from<double>(DType::float64, std::array{size}, values).to(dtype);
}

// The last column of a table, but for its first five rows.
std::vector<std::string> cells(const Tensor& device, const Tensor& bench, Standard standard) {
  std::vector<std::string> result;
  std::istringstream lines(comparison_text(device, bench, standard));
  static const std::regex row(R"(\| [^|]+\| ([^ |]+) *\|)");
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, row)) result.push_back(match[1]);
  }
  result.erase(result.begin(), result.begin() + std::min<std::ptrdiff_t>(4, std::ssize(result)));
  return result;
}

TEST(OpGenerateTables, AddAsTorchDoes) {
  const auto sum = [](int count, DType dtype) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(dtype == DType::float64 ? 0.1 * i : static_cast<float>(0.1 * i));
    return torch_sum(values, dtype);
  };
  EXPECT_EQ(sum(0, DType::float64), 0);
  EXPECT_EQ(sum(6, DType::float32), 1.5);
  EXPECT_EQ(sum(1003, DType::float64), 50250.3) << "one by one it is 50250.299999999996";
  EXPECT_EQ(sum(1003, DType::float32), 50250.30078125);
  EXPECT_EQ(sum(20011, DType::float64), 20021005.5) << "one by one it is 20021005.499999996";
  EXPECT_EQ(sum(20011, DType::float32), 20021004.0);
}

// The worked values of the format's description: two outputs in float32 and one in bfloat16.
TEST(OpGenerateTables, HoldTheDocumentedValues) {
  using Cells = std::vector<std::string>;
  const Tensor device_a = floats(DType::float32, {1, 2.001, 0, -4, 5e-7});
  const Tensor bench_a = floats(DType::float64, {1, 2, 0, -4, 4e-7});
  EXPECT_EQ(cells(device_a, bench_a, Standard::binary_consistency), (Cells{"0.4", "error"}));
  EXPECT_EQ(cells(device_a, bench_a, Standard::absolute_threshold), (Cells{"0.3333333432674408", "0.5", "error"}));
  EXPECT_EQ(cells(device_a, bench_a, Standard::ulp),
            (Cells{"3518437.1644672006", "704526.2328934402", "0.4000000059604645", "error"}));
  EXPECT_EQ(
      cells(device_a, bench_a, Standard::benchmark),
      (Cells{"0.5", "0.0004999637603759766", "0.0001666545867919922", "0.0005773084232762552", "0.4000000059604645"}));
  EXPECT_EQ(cells(device_a, bench_a, Standard::dual_1000), (Cells{"0.800000011920929", "error"}));

  const Tensor device_inf = floats(DType::float32, {1, 2.001, 0, -4, 5e-7, infinite});
  const Tensor bench_inf = floats(DType::float64, {1, 2, 0, -4, 4e-7, infinite});
  EXPECT_EQ(cells(device_inf, bench_inf, Standard::binary_consistency), (Cells{"0.3333333333333333", "error"}));
  EXPECT_EQ(cells(device_inf, bench_inf, Standard::absolute_threshold), (Cells{"0.3333333432674408", "0.5", "error"}));
  EXPECT_EQ(cells(device_inf, bench_inf, Standard::ulp), (Cells{"nan", "nan", "0.3333333432674408", "error"}));
  EXPECT_EQ(
      cells(device_inf, bench_inf, Standard::benchmark),
      (Cells{"0.5", "0.0004999637603759766", "0.0001666545867919922", "0.0005773084232762552", "0.3333333432674408"}));
  EXPECT_EQ(cells(device_inf, bench_inf, Standard::dual_1000), (Cells{"0.6666666865348816", "error"}));

  const Tensor device_c = floats(DType::bfloat16, {1, 2.002, 0.0005, -4});
  const Tensor bench_c = floats(DType::float32, {1, 2, 0.0005, -4});
  EXPECT_EQ(cells(device_c, bench_c, Standard::binary_consistency), (Cells{"0.25", "error"}));
  EXPECT_EQ(cells(device_c, bench_c, Standard::absolute_threshold), (Cells{"0.0", "0.0", "pass"}));
  EXPECT_EQ(cells(device_c, bench_c, Standard::ulp),
            (Cells{"0.0720062255859375", "0.018001556396484375", "0.0", "pass"}));
  EXPECT_EQ(cells(device_c, bench_c, Standard::benchmark), (Cells{"0.0", "0.0", "0.0", "0.0", "0.0"}));
  EXPECT_EQ(cells(device_c, bench_c, Standard::dual_1000), (Cells{"1.0", "pass"}));
}

TEST(OpGenerateTables, SayWhatCannotBeCompared) {
  const Tensor one = floats(DType::float32, {1});
  const auto text = [](const Value& device, const Value& bench) {
    return comparison_text(device, bench, Standard::benchmark);
  };
  EXPECT_EQ(text(one, 1.0), "ERROR: out_device and out_bench is not the same type!\n");
  EXPECT_EQ(text(List{one}, List{}), "ERROR: len of out_device and out_bench is different!\n");
  EXPECT_EQ(text(one, floats(DType::float32, {1, 2})), "ERROR: shape of out_device and out_bench is not equal!\n");
  EXPECT_EQ(text(floats(DType::float32, {}), floats(DType::int64, {})),
            "Both out_device and out_bench have zero elements.\n");
  EXPECT_EQ(text(one, floats(DType::int64, {1})),
            "ERROR: out_device dtype is torch.float32, out_bench dtype is torch.int64, not comparable.\n");
  EXPECT_EQ(text(None{}, None{}), "ERROR: comparison of type <class 'NoneType'> is not supported.\n");
  EXPECT_EQ(
      text(List{std::int64_t{2}, List{true, std::string("a")}}, List{std::int64_t{3}, List{true, std::string("a")}}),
      "index 0:\nERROR: out_device and out_bench is not equal!\nindex 1:\nindex 1.0:\n"
      "PASS: out_device and out_bench equals.\nindex 1.1:\nPASS: out_device and out_bench equals.\n");
}

}  // namespace
}  // namespace msrun::op_generate
