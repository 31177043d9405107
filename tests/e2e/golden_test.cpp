// Every sample dump against the files that msProbe wrote for it (tests/data/golden: torch 1.13 on the CPU in the place
// of the device). Row names, order and SKIPs are compared; digits are not, because the random data differ.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/support/golden_dumps.h"
#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

// APIs that msProbe skipped, as a whole or the backward, although they can be checked: their rows may be more here.
std::set<std::string> skipped_by_golden(const Rows& result) {
  std::set<std::string> skipped;
  for (const auto& row : result) {
    if (row.at(1) == "SKIP" || row.at(2) == "SKIP") skipped.insert(row[0]);
  }
  return skipped;
}

// APIs for which the golden device was no bfloat16 device at all: msProbe's reference of npu_fusion_attention works in
// float64, and the golden file compares it with itself.
std::set<std::string> in_float64(const Rows& details) {
  std::set<std::string> apis;
  for (const auto& row : details) {
    const std::size_t at = row.at(0).rfind(".forward.output.");
    if (at != std::string::npos && row.at(2) == "torch.float64") apis.insert(row[0].substr(0, at));
  }
  return apis;
}

bool belongs_to(const std::string& details_name, const std::set<std::string>& apis) {
  for (const char* direction : {".forward.output.", ".backward.output."}) {
    const std::size_t at = details_name.rfind(direction);
    if (at != std::string::npos && apis.contains(details_name.substr(0, at))) return true;
  }
  return false;
}

std::vector<std::string> without(std::vector<std::string> rows, const std::set<std::string>& apis) {
  std::erase_if(rows, [&](const std::string& name) { return belongs_to(name, apis); });
  return rows;
}

int count_of(const Rows& rows, const std::string& status, const std::set<std::string>& left_out) {
  int count = 0;
  for (const auto& row : rows) {
    if (left_out.contains(row.at(0))) continue;
    count += static_cast<int>(row.at(1) == status) + static_cast<int>(row.at(2) == status);
  }
  return count;
}

class GoldenDump : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenDump, HasTheRowsOfMsprobe) {
  const TemporaryDirectory scratch;
  const Finished run =
      msrun({"-api_info", dump(GetParam()), "-n", "4", "-d", "0", "1", "-o", scratch / "out", "--backend", "sim"},
            scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const Rows result = read_csv(only_file(scratch / "out", "accuracy_checking_result_"));
  const Rows details = read_csv(only_file(scratch / "out", "accuracy_checking_details_"));
  const Rows golden_result = read_csv(golden(GetParam(), "result"));
  const Rows golden_details = read_csv(golden(GetParam(), "details"));
  EXPECT_EQ(result.at(0), golden_result.at(0));
  EXPECT_EQ(details.at(0), golden_details.at(0));
  EXPECT_EQ(names(result), names(golden_result));
  const std::set<std::string> more_here = skipped_by_golden(golden_result);
  EXPECT_EQ(without(names(details), more_here), without(names(golden_details), more_here));

  const bool float32 = GetParam().find("fp32") != std::string::npos;
  for (std::size_t i = 1; i < result.size(); ++i) {
    const auto& row = result[i];
    const auto& expected = golden_result.at(i);
    for (const std::size_t column : {1U, 2U}) {
      if (row.at(column) == "SKIP") {
        EXPECT_EQ(expected.at(column), "SKIP") << row[0] << ": " << row.back();
      }
      if (float32 && expected.at(column) == "pass") {
        EXPECT_EQ(row.at(column), "pass") << row[0];
      }
    }
  }
  // Which results bfloat16 rounding pushes over a limit depends on the data; how many does not.
  if (!float32) {
    std::set<std::string> left_out = more_here;
    if (GetParam().find("bf16") != std::string::npos) left_out.merge(in_float64(golden_details));
    // Scores and their mask, of which msProbe draws numbers as large as the mask, and sums that are as large: no
    // rounding of scores shows in them.
    if (GetParam().starts_with("llama")) left_out.insert({"Tensor.__add__.3", "Tensor.__add__.10"});
    const auto errors = [&](const Rows& rows) { return count_of(rows, "error", left_out); };
    const auto warnings = [&](const Rows& rows) { return count_of(rows, "warning", left_out); };
    EXPECT_LE(errors(result), errors(golden_result));
    EXPECT_LE(errors(result) + warnings(result), errors(golden_result) + warnings(golden_result));
  }
}

INSTANTIATE_TEST_SUITE_P(AllDumps, GoldenDump, ::testing::ValuesIn(golden_dumps()),
                         [](const auto& parameter) { return parameter.param; });

TEST(SimFault, TurnsExactlyItsFamily) {
  const TemporaryDirectory scratch;
  const Finished run = msrun({"-api_info", dump("llama_fp32"), "-n", "2", "-d", "0", "-o", scratch / "out",
                              "--sim-fault", "Torch.matmul.*=wrong-block"},
                             scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  int matmuls = 0;
  const Rows result = read_csv(only_file(scratch / "out", "accuracy_checking_result_"));
  for (std::size_t i = 1; i < result.size(); ++i) {
    const bool faulty = result[i][0].starts_with("Torch.matmul.");
    matmuls += faulty ? 1 : 0;
    const bool found = result[i][1] == "warning" || result[i][1] == "error";
    EXPECT_EQ(found, faulty) << result[i][0] << " " << result[i][1];
  }
  EXPECT_GT(matmuls, 2);
}

TEST(SimFault, HalfPrecisionAccumulationIsFound) {
  const TemporaryDirectory scratch;
  const Finished run = msrun({"-api_info", dump("llama_fp32"), "-n", "2", "-d", "0", "-o", scratch / "out",
                              "--sim-fault", "Functional.linear.*=acc-fp16", "--fail-on", "error"},
                             scratch.path());
  EXPECT_EQ(run.exit_code, 1) << run.err;
  const Rows result = read_csv(only_file(scratch / "out", "accuracy_checking_result_"));
  for (std::size_t i = 1; i < result.size(); ++i) {
    const bool faulty = result[i][0].starts_with("Functional.linear.");
    const bool found = result[i][1] != "pass" && result[i][1] != "SKIP";
    EXPECT_EQ(found, faulty) << result[i][0] << " " << result[i][1];
  }
}

}  // namespace
}  // namespace msrun::testing
