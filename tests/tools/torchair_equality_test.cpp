// torchair_compare and values that are hard to compare: NaN and infinities that both sides have, numbers too small for
// a cosine, and names that a spreadsheet would run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <limits>

#include "kernels/io/files/csv.h"
#include "tests/tools/torchair_compare_support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

const fs::path ge_off = data / "trees/ge_off/msprobe_ge_dump";

TEST(TorchairEquality, ADumpAgreesWithItself) {
  const TemporaryDirectory scratch;
  const fs::path converted = data / "converted/ge_on/msprobe_ge_dump";
  for (const fs::path& dump : {ge_on, ge_off, converted, data / "trees/ge_on_old/msprobe_ge_dump"}) {
    SCOPED_TRACE(dump);
    const Compared result = compare(dump, dump, scratch);
    ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
    EXPECT_GT(count_of_result(result.report, "PASS"), 80U);
    EXPECT_EQ(count_of_result(result.report, "FAIL"), 0U);
    EXPECT_THAT(result.finished.out, HasSubstr(" passed, 0 failed"));
  }
}

// A fused operator has no parts in its own dump.
TEST(TorchairEquality, FusedOperatorsAreComparedWithTheSame) {
  const TemporaryDirectory scratch;
  const Rows report = compare(ge_on, ge_on, scratch).report;
  std::size_t rows = 0;
  for (std::size_t i = 1; i < report.size(); ++i) rows += cell(report, i, "API Name") == "Mul_10Add_11Relu_12" ? 1 : 0;
  EXPECT_GT(rows, 0U);
}

TEST(TorchairEquality, TheColumnsOfTheToolInUseStayAsItWritesThem) {
  const TemporaryDirectory scratch;
  const Rows full = compare(ge_on, ge_on, scratch).report;
  const Rows legacy = compare(ge_on, ge_on, scratch, {"--legacy_columns"}).report;
  ASSERT_EQ(full.size(), legacy.size());
  const std::size_t first = column(full, "token_id");
  for (std::size_t i = 0; i < full.size(); ++i) {
    EXPECT_EQ(std::vector(full[i].begin() + static_cast<std::ptrdiff_t>(first), full[i].end()), legacy[i]);
  }
  const std::size_t row = rows_of(full, "Log.Log_13.50.3.1767607200022503,outputs,0").at(0);
  EXPECT_EQ(cell(full, row, "cmp_fail_reason"), "golden_data includes NAN or inf. my_data includes NAN or inf.");
  EXPECT_EQ(cell(full, row, "cosine_similarity"), "");
  EXPECT_EQ(cell(full, row, "Err_message"), "NaN or Inf at 3 positions is the same on both sides and counts as equal.");
  EXPECT_EQ(cell(full, row, "Cosine"), "1.0");
  EXPECT_EQ(cell(full, row, "One Thousandth Err Ratio"), "1.0");
}

fs::path html_of(const Compared& result) { return fs::path(result.report_path).replace_extension(".html"); }

const std::string operator_file = "Mul.Mul_1.14.3.1767607200001731";

// Two dumps of one operator, which has these files.
class Pair {
 public:
  Pair(const std::string& mine, const std::string& golden) {
    for (const auto& [side, bytes] : {std::pair("target", &mine), {"golden", &golden}}) {
      fs::create_directories(scratch_ / side / ge_token);
      fs::copy_file(ge_on / graph_text, scratch_ / side / graph_text);
      write_file(scratch_ / side / ge_token / operator_file, *bytes);
    }
  }
  // Nothing but the smallest and largest element is left, with full more.
  void convert(const std::string& side, const std::string& statistics) const {
    EXPECT_EQ(convert_once(scratch_ / side, scratch_.path(), {"--stats", statistics}).exit_code, 0);
  }
  Compared compared(const std::vector<std::string>& further = {}) const {
    return compare(scratch_ / "target", scratch_ / "golden", scratch_, further);
  }
  std::string row(const std::vector<std::string>& titles) const {
    const Compared result = compared();
    std::string text;
    for (const std::size_t row :
         result.skipped.empty() ? std::vector<std::size_t>{} : rows_of(result.skipped, ",outputs,0")) {
      text += "skipped " + cell(result.skipped, row, "reason");
    }
    for (const std::size_t row : rows_of(result.report, ",outputs,0")) {
      for (const std::string& title : titles) text += (text.empty() ? "" : " ") + cell(result.report, row, title);
    }
    return text;
  }

 private:
  const TemporaryDirectory scratch_;
};

// Values as a file with one input and one output; code is that of their type.
template <class T>
std::string file_of(const std::vector<T>& values, std::uint64_t code) {
  const DumpTensor tensor{
      .data_type = code, .shape = {values.size()}, .original_shape = {values.size()}, .data = bytes_of(values)};
  return ge_dump_bytes({tensor}, {tensor});
}

// The result of one operator whose input and output hold these values.
std::string result_of(const std::vector<float>& mine, const std::vector<float>& golden) {
  return Pair(ge_file(mine), ge_file(golden)).row({"Result", "Err_message"});
}

constexpr std::uint64_t float64 = 12;

std::string wide_result(const std::vector<double>& mine, const std::vector<double>& golden,
                        const std::string& title = "Err_message") {
  return Pair(file_of(mine, float64), file_of(golden, float64)).row({"Result", title});
}

// What float32 cannot hold is no infinity.
TEST(TorchairEquality, NumbersBeyondFloat32AreCompared) {
  const std::string wide = " elements are beyond the range of float32 and compared as float64.";
  EXPECT_EQ(wide_result({1e300, 1e300, 1}, {2e300, 2e300, 1}), "FAIL 2" + wide);
  EXPECT_EQ(wide_result({1e300, 1e300, 1}, {2e300, 2e300, 1}, "MaxRelativeErr"), "FAIL 0.5");
  EXPECT_EQ(wide_result({1e300, 1e300, 1}, {2e300, 2e300, 1}, "Max diff"), "FAIL -1e+300");
  EXPECT_EQ(wide_result({1e300, -1e39, 1}, {1e300, -1e39, 1}), "PASS 2" + wide);
  EXPECT_EQ(wide_result({1e300, -1e39, 1}, {1e300, -1e39, 1}, "Cosine"), "PASS 1.0");
  EXPECT_EQ(wide_result({1e300, -1e39, 5}, {1e300, -1e39, 1}), "FAIL 2" + wide);
  EXPECT_EQ(wide_result({1.001e39, 2e39}, {1e39, 2e39}), "PASS 2" + wide);
  EXPECT_EQ(wide_result({1e300, 1}, {0, 1}), "FAIL 1 elements are zero in golden_data but not in my_data. 1" + wide);
  EXPECT_EQ(wide_result({INFINITY, 1}, {1e300, 1}),
            "FAIL golden_data includes NAN or inf. my_data includes NAN or inf.");
  // msProbe's columns are those of float32.
  EXPECT_EQ(wide_result({1e300, 1}, {1e300, 1}, "cmp_fail_reason"),
            "PASS golden_data includes NAN or inf. my_data includes NAN or inf.");
  EXPECT_EQ(wide_result({1e300, 1}, {1e300, 1}, "my_max_value"), "PASS inf");
  for (const std::string statistics : {"minmax", "full"}) {
    const Pair pair(file_of(std::vector<double>{1e39, 1}, float64), file_of(std::vector<double>{5e39, 1}, float64));
    pair.convert("target", statistics);
    EXPECT_EQ(pair.row({"Result", "MaxRelativeErr"}), "FAIL 80.0%");
    pair.convert("golden", statistics);
    EXPECT_EQ(pair.row({"Result", "MaxRelativeErr"}), "FAIL 80.0%");
    const std::string page = read_file(html_of(pair.compared({"--html"})));
    EXPECT_NE(page.find("max differs by -4.0000000000000004e+39, 80.0%: must be below 1%"), std::string::npos);
  }
}

// A scale as quantised products take it: float32 bits, an offset of nine bits, and a mark where the recorder sets it.
std::uint64_t packed(float scale, std::uint64_t offset = 0, bool marked = true) {
  return std::bit_cast<std::uint32_t>(scale) | offset << 37 | (marked ? std::uint64_t{1} << 46 : 0);
}

TEST(TorchairEquality, ScalesThatIntegersHoldAreComparedAsNumbers) {
  constexpr std::uint64_t uint64 = 10;
  constexpr std::uint64_t int64 = 8;
  const auto result = [](const std::vector<std::uint64_t>& mine, const std::string& golden) {
    return Pair(file_of(mine, uint64), golden).row({"Result"});
  };
  const std::vector<std::uint64_t> scales{packed(0.5F), packed(0.25F)};
  EXPECT_EQ(result(scales, file_of(scales, int64)), "PASS");
  // As integers they differ by less than the limit.
  EXPECT_EQ(result({packed(0.75F), packed(0.25F)}, file_of(scales, uint64)), "FAIL");
  EXPECT_EQ(result({packed(0.5F, 3), packed(0.25F)}, file_of(scales, uint64)), "FAIL");
  // Beside the numbers themselves, of which they are nothing like.
  EXPECT_EQ(result(scales, ge_file({0.5F, 0.25F})), "PASS");
  EXPECT_EQ(result(scales, ge_file({0.5F, 0.75F})), "FAIL");
  EXPECT_EQ(result({packed(0.5F, 0, false), packed(0.25F, 0, false)}, ge_file({0.5F, 0.25F})), "PASS");
  // Counts are no scales.
  EXPECT_EQ(result({3, 4}, ge_file({3, 4})), "PASS");
  EXPECT_EQ(result({3, 4}, file_of(std::vector<std::uint64_t>{3, 5}, uint64)), "FAIL");
}

TEST(TorchairEquality, ImaginaryPartsCount) {
  using Complex = std::complex<float>;
  constexpr std::uint64_t complex64 = 16;
  const auto result = [](const std::vector<Complex>& mine, const std::string& golden) {
    return Pair(file_of(mine, complex64), golden).row({"Result", "Cosine", "Err_message"});
  };
  const std::string golden = file_of(std::vector<Complex>{{1, 2}, {3, 4}}, complex64);
  const std::string whose = "The metrics are those of the real parts; the imaginary parts ";
  EXPECT_EQ(result({{1, 2}, {3, 4}}, golden), "PASS 1.0 " + whose + "are equal.");
  EXPECT_EQ(result({{1, 2}, {3, 6}}, golden), "FAIL 1.0 " + whose + "have Cosine 0.9899494937 and MaxRelativeErr 0.5.");
  EXPECT_EQ(result({{1, 2}, {3, 4.0078125F}}, golden),
            "PASS 1.0 " + whose + "have Cosine 0.9999996958 and MaxRelativeErr 0.001953125.");
  EXPECT_EQ(result({{1, 2}, {3, NAN}}, golden), "FAIL 1.0 " + whose + "differ in NaN or Inf.");
  EXPECT_THAT(result({{1, 2}, {3, 4}}, ge_file({1, 3})), HasSubstr("FAIL 1.0 " + whose + "have Cosine 0.0"));
}

// What is left of a shrunken dump says little of a tensor with NaN or Inf.
TEST(TorchairEquality, StatisticsDoNotHideBehindNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const auto result = [](const std::vector<float>& mine, const std::vector<float>& golden, const char* statistics) {
    const Pair pair(ge_file(mine), ge_file(golden));
    pair.convert("target", statistics);
    // A side that is not converted is reduced likewise.
    const std::string one = pair.row({"Result", "Accuracy Reached or Not", "Err_message"});
    pair.convert("golden", statistics);
    const std::string both = pair.row({"Result", "Accuracy Reached or Not", "Err_message"});
    EXPECT_EQ(one, both);
    return both;
  };
  const std::string hidden = "PASS Yes Not checked: NaN on both sides hides the other values";
  EXPECT_EQ(result({nan, 1, 2}, {1, nan, 2}, "minmax"), hidden + ".");
  EXPECT_EQ(result({inf, 1, 2}, {inf, 1, 5}, "minmax"),
            "PASS Yes Not fully checked: Inf on both sides hides the other values.");
  EXPECT_EQ(result({inf, 1, 2}, {inf, 3, 5}, "minmax"), "FAIL No ");
  EXPECT_EQ(result({nan, 1, 2}, {nan, 1, 2}, "full"), "PASS Yes NaN or Inf on both sides; the checksums are equal.");
  EXPECT_EQ(result({nan, 1, 2}, {nan, 1000, 2}, "full"),
            hidden + "; the numbers of NaN and Inf are equal, the checksums are not.");
  EXPECT_EQ(result({nan, nan, 2}, {nan, 1, 2}, "full"), "FAIL No Elements that are NaN: 2 against 1.");
  EXPECT_EQ(result({inf, 1, inf}, {inf, 1, 2}, "full"), "FAIL No Elements that are infinite: 2 against 1.");
}

TEST(TorchairEquality, RecordedStatisticsAreCompared) {
  const auto result = [](const std::vector<float>& mine, const std::vector<float>& golden) {
    const Pair pair(ge_file(mine), ge_file(golden));
    pair.convert("target", "full");
    const std::string one = pair.row({"Result", "Accuracy Reached or Not", "Err_message"});
    pair.convert("golden", "full");
    EXPECT_EQ(pair.row({"Result", "Accuracy Reached or Not", "Err_message"}), one);
    return one;
  };
  EXPECT_EQ(result({0, 1, 1, 1}, {0, 1, 0, 0}), "FAIL No Mean 0.75 against 0.25. L2norm 1.732 against 1.");
  EXPECT_EQ(result({0, 1, 0.5F, 0.5F}, {0, 1, 0.5F, 0.5F}), "PASS Yes ");
  // The mean is small beside the elements.
  EXPECT_EQ(result({-1, 1, 0.001F, 0.5F, -0.5F}, {-1, 1, 0.002F, 0.5F, -0.5F}), "PASS Yes ");
  EXPECT_EQ(result({0, 1, 1}, {0, 1}), "skipped data shape doesn't match.");
}

TEST(TorchairEquality, OnlyTheSameNonFiniteValuesAtTheSamePlacesAgree) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const std::string equal = " positions is the same on both sides and counts as equal.";
  EXPECT_EQ(result_of({nan, inf, -inf, 2}, {nan, inf, -inf, 2}), "PASS NaN or Inf at 3" + equal);
  EXPECT_EQ(result_of({nan, nan}, {nan, nan}), "PASS NaN or Inf at 2" + equal);
  // The other elements are compared as ever.
  EXPECT_EQ(result_of({nan, 2}, {nan, 1}), "FAIL NaN or Inf at 1" + equal);
  const std::string both = "FAIL golden_data includes NAN or inf. my_data includes NAN or inf.";
  EXPECT_EQ(result_of({inf, 1}, {-inf, 1}), both);
  EXPECT_EQ(result_of({nan, 1}, {inf, 1}), both);
  EXPECT_EQ(result_of({nan, 1}, {1, nan}), both);
  EXPECT_EQ(result_of({inf, 1}, {3, 1}), "FAIL my_data includes NAN or inf.");
}

TEST(TorchairEquality, EqualTensorsPassHoweverSmallTheyAre) {
  EXPECT_EQ(result_of({1e-30F, -3e-31F}, {1e-30F, -3e-31F}), "PASS ");
  EXPECT_EQ(result_of({1e-30F, -3e-31F}, {1e-30F, 3e-31F}), "FAIL ");
}

// A spreadsheet runs a cell that begins with one of these characters.
TEST(TorchairEquality, NoCellIsAFormula) {
  for (const std::string name : {"=cmd|calc!A0", "+1+1", "@SUM(1)", "-2+3", "a;=1+1"}) {
    SCOPED_TRACE(name);
    const TemporaryDirectory scratch;
    const fs::path target = own_target(scratch);
    std::string text = read_file(target / graph_text);
    const std::string old = "\"Mul_1\"";
    const std::size_t at = text.find(old);
    ASSERT_NE(at, std::string::npos);
    write_file(target / graph_text, text.replace(at, old.size(), "\"" + name + "\""));
    fs::rename(target / ge_token / "Mul.Mul_1.14.3.1767607200001731",
               target / ge_token / ("Mul." + name + ".14.3.1767607200001731"));
    const Compared result = compare(target, fx, scratch);
    ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
    ASSERT_GT(result.report.size(), 150U);  // token 1 has the operator by its old name
    for (const Rows& rows : {result.report, result.skipped}) {
      for (std::size_t i = 1; i < rows.size(); ++i) {
        for (const std::string& text_of_cell : rows[i]) {
          EXPECT_TRUE(number(text_of_cell) || !is_formula(text_of_cell)) << text_of_cell;
        }
      }
    }
    std::size_t rows = 0;
    for (std::size_t i = 1; i < result.report.size(); ++i) {
      rows += cell(result.report, i, "API Name") == without_formula(name) ? 1 : 0;
    }
    EXPECT_EQ(rows, 3U);
  }
}

}  // namespace
}  // namespace msrun::testing
