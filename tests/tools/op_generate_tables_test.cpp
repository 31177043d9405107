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
  const std::string text = "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80";
  EXPECT_EQ(string_literal(text), R"("\u00e4\u20ac\U0001f600")");
  EXPECT_EQ(path_literal(text), R"("\u00e4\u20ac\U0001f600")");
  EXPECT_EQ(json_literal(text), R"("\u00e4\u20ac\ud83d\ude00")");
  EXPECT_EQ(string_literal("\xFFz"), R"("\ufffdz")");
  EXPECT_EQ(path_literal("\xFFz"), R"("\udcffz")");
  EXPECT_EQ(json_literal("\xFFz"), R"("\udcffz")");
}

Tensor floats(DType dtype, const std::vector<double>& values) {
  const std::int64_t size = static_cast<std::int64_t>(values.size());
  return Tensor::from<double>(DType::float64, std::array{size}, values).to(dtype);
}

// The last column of a table, but for its first five rows and for those of single limits.
std::vector<std::string> cells(const Tensor& device, const Tensor& bench, Standard standard) {
  std::vector<std::string> result;
  std::istringstream lines(comparison_text(device, bench, standard));
  static const std::regex row(R"(\| (?!Result \()[^|]+\| ([^ |]+) *\|)");
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
  EXPECT_EQ(cells(device_inf, bench_inf, Standard::absolute_threshold),
            (Cells{"0.3333333432674408", "0.5", "1", "error"}))
      << "an infinity on both sides has a row of its own";
  EXPECT_EQ(cells(device_inf, bench_inf, Standard::ulp), (Cells{"nan", "nan", "0.3333333432674408", "1", "error"}));
  EXPECT_EQ(cells(device_inf, bench_inf, Standard::benchmark),
            (Cells{"0.5", "0.0004999637603759766", "0.0001666545867919922", "0.0005773084232762552",
                   "0.3333333432674408", "1"}));
  EXPECT_EQ(cells(device_inf, bench_inf, Standard::dual_1000), (Cells{"0.6666666865348816", "1", "error"}));

  const Tensor device_c = floats(DType::bfloat16, {1, 2.002, 0.0005, -4});
  const Tensor bench_c = floats(DType::float32, {1, 2, 0.0005, -4});
  EXPECT_EQ(cells(device_c, bench_c, Standard::binary_consistency), (Cells{"0.25", "error"}));
  EXPECT_EQ(cells(device_c, bench_c, Standard::absolute_threshold), (Cells{"0.0", "0.0", "pass"}));
  EXPECT_EQ(cells(device_c, bench_c, Standard::ulp),
            (Cells{"0.0720062255859375", "0.018001556396484375", "0.0", "pass"}));
  EXPECT_EQ(cells(device_c, bench_c, Standard::benchmark), (Cells{"0.0", "0.0", "0.0", "0.0", "0.0"}));
  EXPECT_EQ(cells(device_c, bench_c, Standard::dual_1000), (Cells{"1.0", "pass"}));
}

// What each standard says of values of a device, the benchmark's being twice as wide.
struct Judge {
  DType device;
  DType bench;
  Standard standard;

  std::string operator()(const std::vector<double>& device_values, const std::vector<double>& bench_values) const {
    return cells(floats(device, device_values), floats(bench, bench_values), standard).back();
  }
};

std::vector<Judge> judges() {
  std::vector<Judge> all;
  for (const Standard standard :
       {Standard::binary_consistency, Standard::absolute_threshold, Standard::ulp, Standard::dual_1000}) {
    all.push_back({DType::float32, DType::float64, standard});
    all.push_back({DType::bfloat16, DType::float32, standard});
    all.push_back({DType::float16, DType::float32, standard});
    all.push_back({DType::float64, DType::float64, standard});
  }
  return all;
}

std::vector<double> with_one(std::vector<double> values, double odd) {
  values[100] = odd;
  return values;
}

// Decisions 2 and 14: what is not finite on one side alone, or not the same there, never passes; what is the same does.
TEST(OpGenerateTables, JudgeWhatIsNotFinite) {
  const double nan = std::nan("");
  const std::vector<double> sound(6000, 0.5);
  const auto all = [](double value) { return std::vector<double>(6000, value); };
  for (const Judge& judge : judges()) {
    SCOPED_TRACE(standard_text(judge.standard) + std::string(" ") + std::string(name(judge.device)));
    EXPECT_EQ(judge(sound, sound), "pass");
    for (const double odd : {nan, infinite, -infinite}) {
      EXPECT_EQ(judge(all(odd), sound), "error") << odd;
      EXPECT_EQ(judge(with_one(sound, odd), sound), "error") << odd;
      EXPECT_EQ(judge(sound, with_one(sound, odd)), "error") << odd;
      // NaN on both sides says nothing of the device.
      const char* same = std::isnan(odd) ? "warning" : "pass";
      EXPECT_EQ(judge(all(odd), all(odd)), same) << odd;
      EXPECT_EQ(judge(with_one(sound, odd), with_one(sound, odd)), same) << odd;
      for (const double other : {nan, infinite, -infinite}) {
        if (std::isnan(odd) ? std::isnan(other) : odd == other) continue;
        EXPECT_EQ(judge(with_one(sound, odd), with_one(sound, other)), "error") << odd << " " << other;
      }
    }
  }
}

TEST(OpGenerateTables, OfTheBenchmarkStandardCallAnUnequalNanAnError) {
  const std::vector<double> sound(10, 0.5);
  const auto text = [](const std::vector<double>& device, const std::vector<double>& bench) {
    return comparison_text(floats(DType::float32, device), floats(DType::float64, bench), Standard::benchmark);
  };
  std::vector<double> odd = sound;
  odd[3] = std::nan("");
  EXPECT_EQ(text(sound, sound).find("Result"), std::string::npos);
  EXPECT_NE(text(odd, odd).find("| warning "), std::string::npos);
  EXPECT_NE(text(odd, odd).find("| NaN or Inf on Both Sides"), std::string::npos);
  EXPECT_NE(text(odd, sound).find("| error "), std::string::npos);
  EXPECT_NE(text(odd, sound).find("| Unequal NaN or Inf "), std::string::npos);
}

// Of values at the end of the range one side may have overflowed; a number far from it has not.
TEST(OpGenerateTables, TakeWhatJustOverflows) {
  const Judge judge{DType::float16, DType::float32, Standard::absolute_threshold};
  EXPECT_EQ(judge({infinite, 1}, {70000, 1}), "pass") << "the benchmark has the wider range";
  EXPECT_EQ(judge({infinite, 1}, {65500, 1}), "pass");
  EXPECT_EQ(judge({65504, 1}, {65521, 1}), "pass");
  EXPECT_EQ(judge({infinite, 1}, {60000, 1}), "error");
  EXPECT_EQ(judge({60000, 1}, {70000, 1}), "error");
  EXPECT_EQ(judge({-infinite, 1}, {70000, 1}), "error");
}

// Where the arithmetic of the format overflows, the verdict is of the values.
TEST(OpGenerateTables, JudgeLargeNumbers) {
  const Judge judge{DType::float64, DType::float64, Standard::ulp};
  EXPECT_EQ(judge({1e200, 2e200}, {1e200, 2e200}), "pass");
  EXPECT_EQ(judge({1e200, 2e200}, {1e200, 3e200}), "error");
  const auto found =
      cells(floats(DType::float64, {1e200, 2e200}), floats(DType::float64, {1.1e200, 2e200}), Standard::benchmark);
  EXPECT_EQ(found[3].substr(0, 12), "7.0710678118") << "the mean of squares is no double";
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
