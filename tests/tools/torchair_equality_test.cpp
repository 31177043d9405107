// torchair_compare and values that are hard to compare: NaN and infinities that both sides have, numbers too small for
// a cosine, and names that a spreadsheet would run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

// The result of one operator whose input and output hold these values.
std::string result_of(const std::vector<float>& mine, const std::vector<float>& golden) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  copy_tree(ge_on, scratch / "golden");
  const std::string name = "Mul.Mul_1.14.3.1767607200001731";
  write_file(target / ge_token / name, ge_file(mine));
  write_file(scratch / "golden" / ge_token / name, ge_file(golden));
  const Rows report = compare(target, scratch / "golden", scratch).report;
  const std::size_t row = rows_of(report, "/0/" + name + ",outputs,0").at(0);
  return cell(report, row, "Result") + " " + cell(report, row, "Err_message");
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
