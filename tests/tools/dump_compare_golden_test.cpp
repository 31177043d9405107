// The comparison of two recordings against the files that msProbe itself has written for the same recordings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>

#include "kernels/base/text.h"
#include "kernels/io/files/csv.h"
#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/tools/dump_compare_support.h"

namespace msrun::testing {
namespace {

// One file that msProbe has written, and the command it came from.
struct Pair {
  const char* golden;  // of expected_upstream, without ".csv"
  const char* target;
  const char* bench;
  const char* result;  // what the name of our file begins with
  std::vector<std::string> options;
};

void PrintTo(const Pair& pair, std::ostream* out) { *out << pair.golden; }

const std::vector<Pair> pairs{
    {"01_stat_fp32", "01_stat_fp32/target/dump.json", "01_stat_fp32/golden/dump.json", "compare_result_", {}},
    {"02_stat_bf16_backward",
     "02_stat_bf16_backward/target/dump.json",
     "02_stat_bf16_backward/golden/dump.json",
     "compare_result_",
     {}},
    {"02_stat_bf16_backward_cm",
     "02_stat_bf16_backward/target/dump.json",
     "02_stat_bf16_backward/golden/dump.json",
     "compare_result_",
     {"-cm"}},
    {"03_tensor_fp32", "03_tensor_fp32/target/dump.json", "03_tensor_fp32/golden/dump.json", "compare_result_", {}},
    {"04_tensor_odd", "04_tensor_odd/target/dump.json", "04_tensor_odd/golden/dump.json", "compare_result_", {}},
    {"04_tensor_odd_fuzzy",
     "04_tensor_odd/target/dump.json",
     "04_tensor_odd/golden/dump.json",
     "compare_result_",
     {"-fm"}},
    {"05_stat_odd", "05_stat_odd/target/dump.json", "05_stat_odd/golden/dump.json", "compare_result_", {}},
    {"06_md5", "06_md5/target/dump.json", "06_md5/golden/dump.json", "compare_result_", {}},
    {"07_inserted_reordered",
     "07_inserted_reordered/target/dump.json",
     "07_inserted_reordered/golden/dump.json",
     "compare_result_",
     {}},
    {"08_two_ranks.rank0", "08_two_ranks/step0/target", "08_two_ranks/step0/golden", "compare_result_rank0_", {}},
    {"08_two_ranks.rank1", "08_two_ranks/step0/target", "08_two_ranks/step0/golden", "compare_result_rank1_", {}},
    {"09_mix_modules", "09_mix_modules/target/dump.json", "09_mix_modules/golden/dump.json", "compare_result_", {}},
    {"10_data_mapping",
     "10_data_mapping/target/dump.json",
     "10_data_mapping/golden/dump.json",
     "compare_result_",
     {"-dm", "10_data_mapping/data_mapping.yaml"}},
    {"12_tensor_fuzzy", "12_tensor_fuzzy/target/dump.json", "12_tensor_fuzzy/golden/dump.json", "compare_result_", {}},
    {"12_tensor_fuzzy_fm",
     "12_tensor_fuzzy/target/dump.json",
     "12_tensor_fuzzy/golden/dump.json",
     "compare_result_",
     {"-fm"}},
    {"g_batch.rank0", "graph/batch/npu/step1", "graph/batch/bench/step1", "compare_result_rank0_", {}},
    {"g_batch.rank1", "graph/batch/npu/step1", "graph/batch/bench/step1", "compare_result_rank1_", {}},
    {"g_cross_am", "graph/cross/npu/dump.json", "graph/cross/bench/dump.json", "compare_result_", {"-am"}},
    {"g_cross_lm",
     "graph/cross/npu/dump.json",
     "graph/cross/bench/dump.json",
     "compare_result_",
     {"-lm", "graph/cross/layer_mapping.yaml"}},
    {"g_ms_tensor", "graph/ms_tensor/npu/dump.json", "graph/ms_tensor/bench/dump.json", "compare_result_", {}},
    {"g_pt_md5", "graph/pt_md5/npu/dump.json", "graph/pt_md5/bench/dump.json", "compare_result_", {}},
    {"g_pt_stat", "graph/pt_stat/npu/dump.json", "graph/pt_stat/bench/dump.json", "compare_result_", {}},
    {"g_pt_tensor", "graph/pt_tensor/npu/dump.json", "graph/pt_tensor/bench/dump.json", "compare_result_", {}},
};

std::optional<double> number_of(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  return parse_number<double>(text);
}

// How far a cell may lie from the golden one: msProbe reads its statistics again from text, with fewer digits.
double allowed(const std::string& title, const std::map<std::string, std::string>& row) {
  static const std::map<std::string, std::string> statistics{
      {"Max diff", "max"},       {"Min diff", "min"},       {"Mean diff", "mean"},       {"L2norm diff", "l2norm"},
      {"MaxRelativeErr", "max"}, {"MinRelativeErr", "min"}, {"MeanRelativeErr", "mean"}, {"NormRelativeErr", "l2norm"}};
  const auto statistic = statistics.find(title);
  if (statistic == statistics.end() || !row.contains("Max diff")) return 0;
  const auto mine = number_of(row.at("NPU " + statistic->second));
  const auto bench = number_of(row.at("Bench " + statistic->second));
  if (!mine || !bench) return 0;
  const double error = 1e-15 * std::max(std::abs(*mine), std::abs(*bench)) + 2e-16;
  if (title.ends_with("diff")) return error;
  return (100 + number_of(row.at(title)).value_or(0)) * error / std::abs(*bench);
}

std::string difference(const Rows& golden, const Rows& ours) {
  if (golden.size() != ours.size()) {
    return std::to_string(ours.size()) + " lines, not " + std::to_string(golden.size());
  }
  std::string report;
  int found = 0;
  for (std::size_t r = 0; r < golden.size() && found < 10; ++r) {
    if (golden[r].size() != ours[r].size()) return "row " + std::to_string(r) + " has another number of cells";
    std::map<std::string, std::string> row;
    for (std::size_t c = 0; c < golden[r].size(); ++c) row[golden[0][c]] = golden[r][c];
    for (std::size_t c = 0; c < golden[r].size(); ++c) {
      if (golden[r][c] == ours[r][c]) continue;
      const auto a = number_of(golden[r][c]);
      const auto b = number_of(ours[r][c]);
      if (a && b && golden[r][c].ends_with('%') == ours[r][c].ends_with('%')) {
        const bool of_tensors = row.contains("EucDist");
        const double rounding = of_tensors ? 4e-12 * std::abs(*a) : 0;
        if (std::abs(*a - *b) <= allowed(golden[0][c], row) + rounding) continue;
      }
      ++found;
      report += "\n" + golden[r][0] + ", " + golden[0][c] + ": " + ours[r][c] + ", not " + golden[r][c];
    }
  }
  return report;
}

class DumpCompareGolden : public ::testing::TestWithParam<Pair> {};

TEST_P(DumpCompareGolden, CompatGivesTheSameCells) {
  const Pair& pair = GetParam();
  const TemporaryDirectory scratch;
  std::vector<std::string> words{"-tp", compare_data(pair.target),         "-gp",      compare_data(pair.bench),
                                 "-o",  (scratch.path() / "out").string(), "--compat", "msprobe"};
  for (const std::string& option : pair.options) {
    words.push_back(option.starts_with('-') ? option : compare_data(option));
  }
  const Finished run = run_tool("dump_compare", words, scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Rows golden = read_csv(compare_data(std::string("expected_upstream/") + pair.golden + ".csv"));
  EXPECT_EQ(difference(golden, read_csv(only_file(scratch.path() / "out", pair.result))), "");
}

INSTANTIATE_TEST_SUITE_P(All, DumpCompareGolden, ::testing::ValuesIn(pairs), [](const auto& pair) {
  std::string name = pair.param.golden;
  std::ranges::replace(name, '.', '_');
  return name;
});

}  // namespace
}  // namespace msrun::testing
