// api_precision_compare against the files that msProbe wrote (tests/data/api_precision_compare): byte for byte with
// --compat msprobe, and by default different only where a reason is given.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tools/api_precision_compare/comparison.h"

namespace msrun::api_precision_compare {
namespace {

using msrun::testing::TemporaryDirectory;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

fs::path data() { return fs::path(testing::test_data()) / "api_precision_compare"; }

Report compare_folder(const fs::path& folder, const TemporaryDirectory& out, const Rules& rules) {
  return compare(folder / "npu_details.csv", folder / "gpu_details.csv", out.path(), rules);
}

std::string expected_name(const char* file, Policy policy) {
  return std::string("expected_") + file + (policy == Policy::per_api ? "_per_api.csv" : ".csv");
}

using Case = std::tuple<std::string, Policy>;

class ApiPrecisionCompareCompat : public ::testing::TestWithParam<Case> {};

TEST_P(ApiPrecisionCompareCompat, WritesTheBytesOfMsprobe) {
  const auto& [name, policy] = GetParam();
  const fs::path folder = data() / name;
  const TemporaryDirectory out;
  const Report report = compare_folder(folder, out, {.policy = policy, .compat_msprobe = true, .english = false});
  const auto golden = [&, used = policy](const char* file) {
    return msrun::testing::read_file(folder / expected_name(file, used));
  };
  EXPECT_EQ(msrun::testing::read_file(report.details_path), golden("details"));
  EXPECT_EQ(msrun::testing::read_file(report.result_path), golden("result"));
  EXPECT_EQ(report.stopped, name.ends_with("bad_api_name_char") || name.ends_with("duplicate_gpu_row"));
}

INSTANTIATE_TEST_SUITE_P(
    All, ApiPrecisionCompareCompat,
    ::testing::Combine(::testing::Values(".", "cases/all_numeric_error_rate", "cases/all_numeric_relative_error_rate",
                                         "cases/bad_api_name_char", "cases/duplicate_gpu_row", "cases/empty_npu",
                                         "cases/extra_and_reordered_columns", "cases/single_unsupported"),
                       ::testing::Values(Policy::per_api, Policy::current)));

// What stands in the files by default where msProbe's differ, and why.
struct Difference {
  const char* name;
  const char* verdicts;  // of a details row "status", of a result row "forward,backward"; "": the row is gone
  const char* message;   // a part of it
  const char* reason;
};

constexpr const char* blank_is_not_zero = "15.1: what was not computed is not zero";
constexpr const char* columns_decide = "15.2: the columns that are filled decide the standard";
constexpr const char* one_row_per_api = "15.8: a row that cannot be judged takes its API along under the API's name";
constexpr const char* gpu_rows = "15.7: what only one file has is listed";
constexpr const char* plain_words = "15.18: a plain reason";
constexpr const char* not_hidden = "15.6: a float64 output does not hide the others";
constexpr const char* bad_direction = "15.8: a direction that does not exist makes the name invalid";
constexpr const char* goes_on = "15.8: a bad row does not end the comparison";
constexpr const char* merged = "15.6: one API has one verdict, wherever its rows stand";

// Every row of theirs and ours under its name; several of one name are joined.
std::map<std::string, std::vector<std::string>> rows_by_name(const fs::path& path) {
  std::map<std::string, std::vector<std::string>> rows;
  const msrun::testing::Rows all = msrun::testing::read_csv(path);
  for (std::size_t i = 1; i < all.size(); ++i) {
    auto& row = rows[all[i][0]];
    row.insert(row.end(), all[i].begin(), all[i].end());
  }
  return rows;
}

void expect_differences(const fs::path& theirs_path, const fs::path& ours_path,
                        const std::vector<Difference>& differences) {
  const auto theirs = rows_by_name(theirs_path);
  const auto ours = rows_by_name(ours_path);
  const auto is_listed = [&](const std::string& name) {
    return std::ranges::any_of(differences, [&](const Difference& difference) { return name == difference.name; });
  };
  for (const auto& [name, row] : theirs) {
    if (is_listed(name)) continue;
    ASSERT_TRUE(ours.contains(name)) << name;
    EXPECT_EQ(ours.at(name), row);
  }
  for (const auto& [name, row] : ours) EXPECT_TRUE(theirs.contains(name) || is_listed(name)) << name;
  for (const Difference& difference : differences) {
    SCOPED_TRACE(std::string(difference.name) + ": " + difference.reason);
    const auto found = ours.find(difference.name);
    if (std::string(difference.verdicts).empty()) {
      EXPECT_EQ(found, ours.end());
      continue;
    }
    ASSERT_NE(found, ours.end());
    const auto before = theirs.find(difference.name);
    EXPECT_TRUE(before == theirs.end() || before->second != found->second) << "there is no difference";
    const std::vector<std::string>& row = found->second;
    EXPECT_EQ(row.size() == 4 ? row[1] + "," + row[2] : row.at(25), difference.verdicts);
    EXPECT_THAT(row.back(), HasSubstr(difference.message));
  }
}

TEST(ApiPrecisionCompareDefault, DiffersFromMsprobeWhereThereIsAReason) {
  const TemporaryDirectory out;
  const Report report = compare_folder(data(), out, {});
  expect_differences(
      data() / "expected_details_per_api.csv", report.details_path,
      {
          {"Functional.softmax.62.forward.output.0", "SKIP", "no value of any standard", blank_is_not_zero},
          {"Functional.softmax.63.forward.output.0", "error", "taken for 0: 小值域错误占比", plain_words},
          {"Functional.softmax.64.forward.output.0", "SKIP", "NPU: 均方根误差 is not a number.", plain_words},
          {"Functional.matmul.67.forward.output.0", "error", "ERROR: 均方根误差比值超过阈值", columns_decide},
          {"Torch.matmul.81.forward.output.0", "SKIP", "no value of any standard", blank_is_not_zero},
          {"Tensor.mul.93.forward.output.0", "SKIP", "NPU: inf/nan错误率 is blank.", plain_words},
          {"Functional.test_api.95.forward.output.0", "error", "ERROR: 误差均衡性超过阈值", columns_decide},
          {"Tensor.add.96.forward.output.0", "SKIP", "no value of any standard", blank_is_not_zero},
          {"Torch.argmax.102.forward.output.0", "SKIP", "no value of any standard", plain_words},
          {"Functional.conv2d.109.forward.output.0", "pass", "", columns_decide},
          {"Functional.softmax.115.forward.output.0", "SKIP", "did not compare this output", plain_words},
          {"Torch.topk.123.forward.output.0", "error", "ERROR: 均方根误差比值超过阈值", columns_decide},
          {"Torch.topk.124.forward.output.0", "pass", "", columns_decide},
          {"Functional.softmax.125.update.output.0", "SKIP", "is invalid", bad_direction},
          {"Functional.softmax.126.forward.output.0", "SKIP", "The GPU file has no row", gpu_rows},
          {"Functional.softmax.127.forward.output.1", "SKIP", "The GPU file has no row", gpu_rows},
          {"Functional.only_gpu.0.forward.output.0", "SKIP", "Only the GPU file", gpu_rows},
      });
  expect_differences(data() / "expected_result_per_api.csv", report.result_path,
                     {
                         {"Functional.softmax.62", "SKIP, ", "no value of any standard", blank_is_not_zero},
                         {"Functional.softmax.63", "error, ", "taken for 0", plain_words},
                         {"Functional.softmax.64.forward.output.0", "", "", one_row_per_api},
                         {"Functional.softmax.64", "SKIP, ", "is not a number", one_row_per_api},
                         {"Functional.matmul.67", "error, ", "", columns_decide},
                         {"Torch.matmul.81", "SKIP, ", "no value of any standard", blank_is_not_zero},
                         {"Tensor.mul.93.forward.output.0", "", "", one_row_per_api},
                         {"Tensor.mul.93", "SKIP, ", "is blank", one_row_per_api},
                         {"Functional.test_api.95", "error, ", "", columns_decide},
                         {"Tensor.add.96.forward.output.0", "", "", one_row_per_api},
                         {"Tensor.add.96", "SKIP, ", "no value of any standard", one_row_per_api},
                         {"Torch.argmax.102.forward.output.0", "", "", one_row_per_api},
                         {"Torch.argmax.102", "SKIP, ", "no value of any standard", one_row_per_api},
                         {"Functional.conv2d.109.forward.output.0", "", "", one_row_per_api},
                         {"Functional.conv2d.109", "pass, ", "", columns_decide},
                         {"Functional.softmax.115", "SKIP, ", "did not compare this output", plain_words},
                         {"Functional.softmax.121", "pass,SKIP", "", not_hidden},
                         {"Functional.softmax.122", "SKIP,pass", "x", not_hidden},
                         {"Torch.topk.123.forward.output.0", "", "", one_row_per_api},
                         {"Torch.topk.124.forward.output.0", "", "", one_row_per_api},
                         {"Functional.softmax.125", "", "", bad_direction},
                         {"Functional.softmax.125.update.output.0", "SKIP,SKIP", "is invalid", bad_direction},
                         {"Functional.softmax.126", "SKIP, ", "The GPU file has no row", gpu_rows},
                         {"Functional.softmax.127", "pass, ", "forward.output.1: The GPU file has no row", gpu_rows},
                         {"Functional.softmax.128", "pass,error", "", merged},
                         {"Functional.softmax.129", "pass,pass", "", merged},
                         {"Functional.only_gpu.0", "SKIP, ", "Only the GPU file", gpu_rows},
                     });
  EXPECT_EQ(report.only_npu, 2U);
  EXPECT_EQ(report.only_gpu, 1U);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.unreadable, 1U);
  EXPECT_THAT(report.first_unreadable, HasSubstr("Functional.softmax.64.forward.output.0 (NPU: "));
}

TEST(ApiPrecisionCompareDefault, AWholeFileOfRatesIsJudged) {
  const TemporaryDirectory out;
  const Report report = compare_folder(data() / "cases/all_numeric_relative_error_rate", out, {});
  EXPECT_EQ(report.forward[Status::pass], 3U);
  const auto rows = msrun::testing::read_csv(report.details_path);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at(25), "pass");
    EXPECT_EQ(rows[i].at(26), "绝对阈值法");
    EXPECT_EQ(rows[i].at(13), "0.00000000000000");
  }
}

TEST(ApiPrecisionCompareDefault, ABadRowDoesNotEndTheComparison) {
  for (const auto& [name, bad] : {std::pair{"bad_api_name_char", "_Functional.softmax.9.forward.output.0"},
                                  {"duplicate_gpu_row", "Functional.softmax.1"}}) {
    SCOPED_TRACE(std::string(name) + ": " + goes_on);
    const TemporaryDirectory out;
    const Report report = compare_folder(data() / "cases" / name, out, {});
    EXPECT_FALSE(report.stopped);
    EXPECT_EQ(report.problem_count, 1U);
    const auto result = rows_by_name(report.result_path);
    EXPECT_EQ(result.at("Functional.softmax.0")[1], "pass");
    EXPECT_EQ(result.at("Functional.softmax.2")[1], "pass");
    EXPECT_EQ(result.at(bad)[1], "SKIP");
    EXPECT_THAT(result.at(bad)[3], AnyOf(HasSubstr("formula"), HasSubstr("several rows")));
  }
}

TEST(ApiPrecisionCompareDefault, IsMsprobesWhereNothingIsToBeMended) {
  for (const char* name : {"all_numeric_error_rate", "extra_and_reordered_columns", "single_unsupported"}) {
    SCOPED_TRACE(name);
    const TemporaryDirectory out;
    const Report report = compare_folder(data() / "cases" / name, out, {});
    for (const auto& [file, path] : {std::pair{"details", report.details_path}, {"result", report.result_path}}) {
      EXPECT_EQ(msrun::testing::read_file(path),
                msrun::testing::read_file(data() / "cases" / name / expected_name(file, Policy::per_api)));
    }
  }
}

}  // namespace
}  // namespace msrun::api_precision_compare
