// torchair_compare end to end: the reference reports of torchair.md 12 (tests/data/torchair), trees made of them that
// the references lack, and inputs that are wrong on purpose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const fs::path data = fs::path(test_data()) / "torchair";

struct Compared {
  Finished finished;
  Rows report;   // the header first; empty if there is no report
  Rows skipped;  // empty if there is none
  fs::path report_path;
};

Compared compare(const fs::path& target, const fs::path& golden, const TemporaryDirectory& scratch,
                 std::vector<std::string> further = {}) {
  static int count = 0;
  const fs::path out = scratch / ("out" + std::to_string(++count));
  std::vector<std::string> words{"compare",       "--mode",        "torchair",      "--target_path", target.string(),
                                 "--golden_path", golden.string(), "--output_path", out.string()};
  words.insert(words.end(), further.begin(), further.end());
  Compared result;
  result.finished = msrun(words, scratch.path());
  if (!fs::exists(out)) return result;
  for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("_skipped.csv")) {
      result.skipped = read_csv(entry.path());
    } else if (name.ends_with(".csv")) {
      result.report = read_csv(entry.path());
      result.report_path = entry.path();
    }
  }
  return result;
}

std::size_t column(const Rows& rows, const std::string& title) {
  const auto found = std::find(rows.front().begin(), rows.front().end(), title);
  if (found == rows.front().end()) throw std::runtime_error("no column " + title);
  return static_cast<std::size_t>(found - rows.front().begin());
}

std::string cell(const Rows& rows, std::size_t row, const std::string& title) {
  return rows.at(row).at(column(rows, title));
}

// Rows whose my_data_path ends so.
std::vector<std::size_t> rows_of(const Rows& rows, const std::string& ending) {
  std::vector<std::size_t> found;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (cell(rows, i, "my_data_path").ends_with(ending)) found.push_back(i);
  }
  return found;
}

std::optional<double> number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || (*end != '\0' && std::string(end) != "%")) return std::nullopt;
  return value;
}

// torchair.md 8: how far a cell may be from the reference.
bool close_enough(const std::string& title, const std::string& expected, const std::string& actual,
                  const std::function<std::string(const std::string&)>& of_row) {
  if (expected == actual) return true;
  const std::optional<double> e = number(expected);
  const std::optional<double> a = number(actual);
  if (!e || !a || expected.ends_with('%') != actual.ends_with('%')) return false;
  const double difference = std::abs(*e - *a);
  const auto largest = [&](const std::string& side) {
    return std::max(std::abs(number(of_row(side + "_max_value")).value_or(0)),
                    std::abs(number(of_row(side + "_min_value")).value_or(0)));
  };
  if (title == "Cosine" || title == "cosine_similarity") return difference <= 2e-10;
  if (title == "golden_mean_value") return difference <= 1e-6 * largest("golden");
  if (title == "my_mean_value") return difference <= 1e-6 * largest("my");
  if (title == "Mean diff") return difference <= 1e-6 * (largest("golden") + largest("my"));
  if (title == "kl_divergence") return difference <= 1e-6 + 1e-4 * std::abs(*e);
  if (title == "mean_relative_error" || title == "mean_absolute_error" || title == "relative_euclidean_distance" ||
      title == "EucDist") {
    return difference <= 1e-9 + 1e-6 * std::abs(*e);
  }
  if (title == "L2norm diff") return difference <= 1e-9 * std::max(1.0, std::abs(*e));
  // Percentages of small differences of nearly equal means and norms.
  if (title == "MeanRelativeErr" || title == "NormRelativeErr") return difference <= 1e-3 + 1e-6 * std::abs(*e);
  return difference == 0;
}

void expect_rows(const Rows& expected, const Rows& actual, const fs::path& root,
                 const std::set<std::string>& not_compared = {}) {
  ASSERT_EQ(expected.front(), actual.front());
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t i = 1; i < expected.size(); ++i) {
    for (std::size_t k = 0; k < expected[i].size(); ++k) {
      const std::string& title = expected.front()[k];
      if (not_compared.contains(title)) continue;
      std::string text = expected[i][k];
      const std::string placeholder = "${FIXTURES}";
      if (const std::size_t at = text.find(placeholder); at != std::string::npos) {
        text.replace(at, placeholder.size(), fs::canonical(root).string());
      }
      const auto of_row = [&](const std::string& name) { return cell(expected, i, name); };
      EXPECT_TRUE(close_enough(title, text, actual[i].at(k), of_row))
          << "row " << i << ", " << title << ": " << text << " expected, " << actual[i][k];
    }
  }
}

struct Reference {
  std::string name;
  std::string folder;  // trees or converted
  std::string target;
  std::string golden;
  std::string rank = "_rank0";
  bool upstream = false;

  // GoogleTest would print the bytes, addresses among them.
  friend std::ostream& operator<<(std::ostream& out, const Reference& reference) {
    return out << reference.name << reference.rank;
  }
};

const std::vector<Reference> references{
    {"on_fx", "trees", "ge_on/msprobe_ge_dump", "fx_post710/msprobe_fx_dump", "_rank0", true},
    {"on_off", "trees", "ge_on/msprobe_ge_dump", "ge_off/msprobe_ge_dump", "_rank0", true},
    {"old_fx_pre710", "trees", "ge_on_old/msprobe_ge_dump", "fx_pre710/data_dump", "", true},
    {"quirks", "trees", "ge_quirks/msprobe_ge_dump", "fx_quirks/msprobe_fx_dump"},
    {"conv_on_fx", "converted", "ge_on/msprobe_ge_dump", "fx_post710/msprobe_fx_dump"},
    {"conv_on_off", "converted", "ge_on/msprobe_ge_dump", "ge_off/msprobe_ge_dump"},
};

class TorchairReference : public ::testing::TestWithParam<Reference> {};

TEST_P(TorchairReference, ReportAndSkippedRows) {
  const Reference& reference = GetParam();
  const TemporaryDirectory scratch;
  const fs::path root = data / reference.folder;
  const Compared result = compare(root / reference.target, root / reference.golden, scratch);
  ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
  EXPECT_THAT(result.report_path.filename().string(),
              ::testing::StartsWith("msprobe_cmp_report" + reference.rank + "_20"));
  expect_rows(read_csv(data / "expected" / ("final_" + reference.name + reference.rank + ".csv")), result.report, root);
  const Rows skipped = read_csv(data / "expected" / ("skipped_" + reference.name + reference.rank + ".csv"));
  if (skipped.size() == 1) {
    EXPECT_TRUE(result.skipped.empty());
  } else {
    ASSERT_FALSE(result.skipped.empty());
    expect_rows(skipped, result.skipped, root);
  }
}

TEST_P(TorchairReference, LegacyColumnsAreThoseOfUpstream) {
  const Reference& reference = GetParam();
  if (!reference.upstream) GTEST_SKIP() << "upstream fails on this tree";
  const TemporaryDirectory scratch;
  const fs::path root = data / reference.folder;
  const Compared result = compare(root / reference.target, root / reference.golden, scratch, {"--legacy_columns"});
  ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
  // Upstream's paths of the golden side of two GE dumps are not these (F17).
  const std::set<std::string> not_compared =
      reference.name == "on_off" ? std::set<std::string>{"golden_data_path"} : std::set<std::string>{};
  expect_rows(read_csv(data / "expected" / ("upstream_" + reference.name + reference.rank + ".csv")), result.report,
              root, not_compared);
}

INSTANTIATE_TEST_SUITE_P(All, TorchairReference, ::testing::ValuesIn(references),
                         [](const auto& of) { return of.param.name; });

const fs::path ge_on = data / "trees/ge_on/msprobe_ge_dump";
const fs::path fx = data / "trees/fx_post710/msprobe_fx_dump";
const fs::path rank0 = "worldsize1_global_rank0";
const std::string graph_text = "dynamo_original_graph_1_rank_0_pid_4242_ts_20260105101500123456.txt";
const fs::path ge_token = rank0 / "20260105101501/0/graph_1_0/1/0";

void copy_tree(const fs::path& from, const fs::path& to) { fs::copy(from, to, fs::copy_options::recursive); }

// A copy of ge_on that a test may change.
fs::path own_target(const TemporaryDirectory& scratch, const std::string& name = "target") {
  copy_tree(ge_on, scratch / name);
  return scratch / name;
}

TEST(TorchairCompare, ResultsDoNotDependOnThreads) {
  const TemporaryDirectory scratch;
  const Compared one = compare(ge_on, fx, scratch, {"--threads", "1"});
  const Compared many = compare(ge_on, fx, scratch, {"--threads", "7"});
  EXPECT_EQ(read_file(one.report_path), read_file(many.report_path));
}

TEST(TorchairCompare, SummaryCountsRowsAndNamesTheFirstFailure) {
  const TemporaryDirectory scratch;
  const Compared result = compare(ge_on, fx, scratch);
  EXPECT_THAT(result.finished.out, HasSubstr("rank 0: 176 tensors compared: 162 passed, 14 failed; 6 skipped"));
  EXPECT_THAT(result.finished.out,
              HasSubstr("first failure of token 0: SplitV_4 (SplitVD.SplitV_4.32.3.1767607200012117,outputs,1)"));
  EXPECT_THAT(result.finished.err, AllOf(HasSubstr("FX data missing, GE tensor name: Identity_26, FX tensor name: "
                                                   "clone_3-aten.clone.default"),
                                         HasSubstr("duplicated op name: Add."), HasSubstr("stray.file")));
}

TEST(TorchairCompare, ASideThatIsNotConvertedIsReducedToItsExtremes) {
  const TemporaryDirectory scratch;
  const Rows both =
      compare(data / "converted/ge_on/msprobe_ge_dump", data / "converted/fx_post710/msprobe_fx_dump", scratch).report;
  for (const auto& [target, golden] : {std::pair(ge_on, data / "converted/fx_post710/msprobe_fx_dump"),
                                       std::pair(data / "converted/ge_on/msprobe_ge_dump", fx)}) {
    const Compared result = compare(target, golden, scratch);
    ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
    ASSERT_EQ(result.report.size(), both.size());
    for (std::size_t i = 1; i < both.size(); ++i) {
      // Casts are compared with themselves, so that both sides are real, and some files cannot be converted.
      if (cell(both, i, "golden_data_path").ends_with(",inputs,0")) continue;
      if (cell(both, i, "my_data_path").find("_min_max") == std::string::npos) continue;
      for (const char* title : {"Result", "Max diff", "Min diff", "MaxRelativeErr", "golden_shape", "my_shape"}) {
        // The sign of a zero depends on which zero of a tensor was taken.
        const std::string text = cell(result.report, i, title);
        const std::string expected = cell(both, i, title);
        EXPECT_TRUE(text == expected || (number(text) == 0.0 && number(expected) == 0.0))
            << i << ' ' << title << ": " << text << ", " << expected;
      }
      EXPECT_EQ(cell(result.report, i, "Cosine"), "N/A");
    }
  }
}

TEST(TorchairCompare, Md5ModeJudgesByEqualBytes) {
  const TemporaryDirectory scratch;
  const Compared result = compare(ge_on, fx, scratch, {"--md5"});
  ASSERT_EQ(result.finished.exit_code, 0);
  std::size_t passed = 0;
  for (std::size_t i = 1; i < result.report.size(); ++i) {
    const std::string mine = cell(result.report, i, "NPU MD5");
    const std::string golden = cell(result.report, i, "BENCH MD5");
    const bool pass = cell(result.report, i, "Result") == "PASS";
    if (cell(result.report, i, "Err_message") == "empty tensor.") continue;
    EXPECT_THAT(mine, ::testing::MatchesRegex("[0-9a-f]{8}"));
    EXPECT_EQ(pass, mine == golden) << i;
    passed += pass ? 1 : 0;
  }
  EXPECT_GT(passed, 50U);
  EXPECT_LT(passed, 150U);
}

TEST(TorchairCompare, Md5ModeNeedsChecksumsOfConvertedFiles) {
  const TemporaryDirectory scratch;
  const Compared result = compare(data / "converted/ge_on/msprobe_ge_dump", fx, scratch, {"--md5"});
  EXPECT_EQ(cell(result.report, 1, "Result"), "FAIL");
  EXPECT_EQ(cell(result.report, 1, "Err_message"), "checksum not available.");
}

// What torchair_convert keeps beyond the extremes fills the columns that are otherwise unknown.
TEST(TorchairCompare, FullStatisticsOfTheConverterAreUsed) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  copy_tree(fx, scratch / "golden");
  for (const fs::path& tree : {target, scratch / "golden"}) {
    const std::string command =
        programs() + "/torchair_convert --once --settle 0 --stats full '" + tree.string() + "' > /dev/null 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  const Compared real = compare(ge_on, fx, scratch, {"--md5"});
  const Compared full = compare(target, scratch / "golden", scratch, {"--md5"});
  ASSERT_EQ(full.finished.exit_code, 0) << full.finished.err;
  std::size_t compared = 0;
  for (std::size_t i = 1; i < full.report.size(); ++i) {
    const std::string path = cell(full.report, i, "my_data_path");
    const std::size_t suffix = path.find("_min_max.npz");
    if (suffix == std::string::npos) continue;
    const std::string ending = path.substr(path.find("worldsize"), suffix - path.find("worldsize")) +
                               path.substr(suffix + std::string("_min_max.npz").size());
    const std::vector<std::size_t> same = rows_of(real.report, ending);
    if (same.size() != 1 || cell(real.report, same[0], "L2norm diff") == "N/A") continue;
    ++compared;
    EXPECT_EQ(cell(full.report, i, "NPU MD5"), cell(real.report, same[0], "NPU MD5")) << ending;
    EXPECT_EQ(cell(full.report, i, "BENCH MD5"), cell(real.report, same[0], "BENCH MD5")) << ending;
    EXPECT_EQ(cell(full.report, i, "Result"), cell(real.report, same[0], "Result")) << ending;
    // The real sides are compared as float32, the converter measures the values themselves.
    const double size = std::abs(*number(cell(real.report, same[0], "my_max_value")));
    EXPECT_NEAR(*number(cell(full.report, i, "L2norm diff")), *number(cell(real.report, same[0], "L2norm diff")),
                1e-6 * std::max(size, 1.0))
        << ending;
    EXPECT_NEAR(*number(cell(full.report, i, "Mean diff")), *number(cell(real.report, same[0], "Mean diff")),
                1e-6 * std::max(size, 1.0))
        << ending;
  }
  EXPECT_GT(compared, 140U);
}

// Two ranks, each with its own graph text and report.
TEST(TorchairCompare, EveryRankHasItsReport) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  copy_tree(target / rank0, target / "worldsize2_global_rank1");
  std::string second = graph_text;
  second.replace(second.find("rank_0"), 6, "rank_1");
  fs::copy(target / graph_text, target / second);
  copy_tree(fx, scratch / "golden");
  copy_tree(fx / rank0, scratch / "golden" / "worldsize2_global_rank1");

  const Compared all = compare(target, scratch / "golden", scratch);
  ASSERT_EQ(all.finished.exit_code, 0) << all.finished.err;
  EXPECT_THAT(all.finished.out, AllOf(HasSubstr("rank 0: 176 tensors"), HasSubstr("rank 1: 176 tensors")));
  const Compared one = compare(target, scratch / "golden", scratch, {"--rank", "1"});
  EXPECT_THAT(one.finished.out, AllOf(Not(HasSubstr("rank 0")), HasSubstr("rank 1: 176 tensors")));
  EXPECT_THAT(cell(one.report, 1, "my_data_path"), HasSubstr("global_rank1"));
  EXPECT_THAT(cell(one.report, 1, "golden_data_path"), HasSubstr("global_rank1"));

  // Only common ranks are compared; a rank that one side lacks is refused.
  fs::remove_all(scratch / "golden" / rank0);
  EXPECT_THAT(compare(target, scratch / "golden", scratch).finished.out, Not(HasSubstr("rank 0")));
  const Compared missing = compare(target, scratch / "golden", scratch, {"--rank", "0"});
  EXPECT_EQ(missing.finished.exit_code, 2);
  EXPECT_THAT(missing.finished.err, HasSubstr("Can not get golden data in rank 0"));
  EXPECT_THAT(compare(target, scratch / "golden", scratch, {"--rank", "5"}).finished.err,
              HasSubstr("Can not get golden data in rank 5"));
  fs::remove_all(target / "worldsize2_global_rank1");
  const Compared none = compare(target, scratch / "golden", scratch);
  EXPECT_EQ(none.finished.exit_code, 2);
  EXPECT_THAT(none.finished.err, HasSubstr("No common rank data in golden_path and my_path."));
}

// The failure of one rank is told after the others are done.
TEST(TorchairCompare, OneRankMayFail) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  copy_tree(target / rank0, target / "worldsize2_global_rank1");  // without a graph text
  copy_tree(fx, scratch / "golden");
  copy_tree(fx / rank0, scratch / "golden" / "worldsize2_global_rank1");
  const Compared result = compare(target, scratch / "golden", scratch);
  EXPECT_EQ(result.finished.exit_code, 2);
  EXPECT_THAT(result.finished.out, HasSubstr("rank 0: 176 tensors"));
  EXPECT_THAT(result.finished.err, HasSubstr("rank 1: Can not get ge graph"));
  EXPECT_EQ(result.report.size(), 177U);
}

// Two graphs of a rank: their rows follow one another, numbered on (F19).
TEST(TorchairCompare, SeveralGraphsAreOneReport) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  std::string second = graph_text;
  second.replace(second.find("graph_1"), 7, "graph_2");
  fs::copy(target / graph_text, target / second);
  const fs::path device = rank0 / "20260105101501/0";
  copy_tree(target / device / "graph_1_0", target / device / "graph_2_0");
  copy_tree(fx, scratch / "golden");
  copy_tree(fx / rank0 / "graph_1", scratch / "golden" / rank0 / "graph_2");

  const Compared result = compare(target, scratch / "golden", scratch);
  ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
  ASSERT_EQ(result.report.size(), 1 + 2 * 176U);
  for (std::size_t i = 1; i <= 176; ++i) {
    EXPECT_THAT(cell(result.report, i, "my_data_path"), HasSubstr("/graph_1_0/"));
    EXPECT_THAT(cell(result.report, i + 176, "my_data_path"), HasSubstr("/graph_2_0/"));
    EXPECT_THAT(cell(result.report, i + 176, "golden_data_path"),
                ::testing::AnyOf(HasSubstr("/graph_2/"), HasSubstr("/graph_2_0/")));
    EXPECT_EQ(std::stoi(cell(result.report, i + 176, "data_id")), std::stoi(cell(result.report, i, "data_id")) + 206);
  }

  // Without its golden data the second graph is left out.
  fs::remove_all(scratch / "golden" / rank0 / "graph_2");
  const Compared one = compare(target, scratch / "golden", scratch);
  EXPECT_EQ(one.finished.exit_code, 0);
  EXPECT_EQ(one.report.size(), 177U);
  EXPECT_THAT(one.finished.err, HasSubstr("No golden dump belongs to the dump"));
}

// A dump of the layout before 7.1.0 with golden data of the one after it.
TEST(TorchairCompare, LayoutsMayDiffer) {
  const TemporaryDirectory scratch;
  const Compared result = compare(data / "trees/ge_on_old/msprobe_ge_dump", fx, scratch, {"--rank", "0"});
  EXPECT_EQ(result.finished.exit_code, 0) << result.finished.err;
  EXPECT_EQ(result.report.size(), 89U);
  EXPECT_THAT(result.finished.err, HasSubstr("The directory structure of torchair data is old, the rank parameter "
                                             "will not take effect."));
  const Compared reverse = compare(ge_on, data / "trees/fx_pre710/data_dump", scratch);
  EXPECT_EQ(reverse.report.size(), 89U);
  EXPECT_THAT(reverse.finished.err, HasSubstr("My token_id 1 not found in golden dump data"));
  // The parent of data_dump works as well.
  EXPECT_EQ(compare(ge_on, data / "trees/fx_pre710", scratch).report.size(), 89U);
}

TEST(TorchairCompare, DamagedFilesAreRowsAndTheRunGoesOn) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  const fs::path token = target / ge_token;
  fs::resize_file(token / "Mul.Mul_1.14.3.1767607200001731", 20);
  std::string bytes = read_file(token / "Exp.Exp_33.113.3.1767607200058854");
  write_file(token / "Exp.Exp_33.113.3.1767607200058854", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F" + bytes.substr(8));
  copy_tree(fx, scratch / "golden");
  const fs::path golden = scratch / "golden" / rank0 / "graph_1/0";
  fs::resize_file(golden / "add-aten.add.Tensor.INPUT.0.20260105100000000000.npy", 140);
  write_file(golden / "add-aten.add.Tensor.INPUT.1.20260105100000000000.npy", "no numpy file");

  const Compared result = compare(target, scratch / "golden", scratch);
  ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
  for (const char* name : {"Mul.Mul_1.14.3.1767607200001731", "Exp.Exp_33.113.3.1767607200058854"}) {
    const std::vector<std::size_t> rows = rows_of(result.report, name);
    ASSERT_EQ(rows.size(), 1U) << name;
    EXPECT_EQ(cell(result.report, rows[0], "cmp_fail_reason"), "my_data cannot be parsed.");
    EXPECT_EQ(cell(result.report, rows[0], "golden_data_path"), "");
    EXPECT_EQ(cell(result.report, rows[0], "Result"), "FAIL");
  }
  for (const char* name : {"Add.Add.11.2.1767607200000000,inputs,0", "Add.Add.11.2.1767607200000000,inputs,1"}) {
    const std::size_t row = rows_of(result.report, name).at(0);
    EXPECT_EQ(cell(result.report, row, "cmp_fail_reason"), "golden_data cannot be parsed.");
    EXPECT_EQ(cell(result.report, row, "my_dtype"), "torch.float32");
    EXPECT_NE(cell(result.report, row, "my_max_value"), "");
    EXPECT_EQ(cell(result.report, row, "golden_dtype"), "");
  }
  // Their other tensors are compared.
  EXPECT_EQ(cell(result.report, rows_of(result.report, "Add.Add.11.2.1767607200000000,outputs,0").at(0), "Result"),
            "PASS");
}

TEST(TorchairCompare, ABrokenGoldenGeFileIsOneRow) {
  const TemporaryDirectory scratch;
  copy_tree(data / "trees/ge_off/msprobe_ge_dump", scratch / "golden");
  const fs::path token = scratch / "golden" / rank0 / "20260105111501/0/graph_1_0/1/0";
  fs::resize_file(token / "Mul.Mul_1.14.3.1767607200001731", 0);
  const Compared result = compare(ge_on, scratch / "golden", scratch);
  ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
  const std::vector<std::size_t> rows = rows_of(result.report, "Mul.Mul_1.14.3.1767607200001731");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(cell(result.report, rows[0], "cmp_fail_reason"), "golden_data cannot be parsed.");
  EXPECT_THAT(cell(result.report, rows[0], "golden_data_path"),
              ::testing::EndsWith("/Mul.Mul_1.14.3.1767607200001731"));
}

// A converter that was stopped between writing its file and removing the dump leaves both.
TEST(TorchairCompare, AFullDumpIsUsedRatherThanWhatWasMadeOfIt) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  const std::string name = "Mul.Mul_1.14.3.1767607200001731";
  fs::copy(data / "converted/ge_on/msprobe_ge_dump" / ge_token / (name + "_min_max.npz"),
           target / ge_token / (name + "_min_max.npz"));
  const Compared result = compare(target, fx, scratch);
  EXPECT_EQ(rows_of(result.report, "/0/" + name + ",inputs,0").size(), 1U);
  EXPECT_EQ(result.report.size(), 177U);
}

TEST(TorchairCompare, StackInfoComesFromTheGraphsPythonText) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  write_file(target / "dynamo_original_graph_1_rank_0_pid_4242_ts_20260105101500123456.py",
             "    # File \"/model.py\", line 7, in forward\n    Mul_1 = ge.Mul(a, b, node_name=\"Mul_1\")\n");
  const Compared result = compare(target, fx, scratch);
  const std::size_t row = rows_of(result.report, "Mul.Mul_1.14.3.1767607200001731,outputs,0").at(0);
  EXPECT_EQ(cell(result.report, row, "Stack Info"), "File \"/model.py\", line 7, in forward");
  EXPECT_EQ(cell(result.report, 1, "Stack Info"), "N/A");
}

TEST(TorchairCompare, ADamagedGraphTextIsUsedUpToTheDamage) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  const std::string text = read_file(target / graph_text);
  write_file(target / graph_text, text.substr(0, text.find("name: \"TopK_3\"")));
  const Compared result = compare(target, fx, scratch);
  EXPECT_EQ(result.finished.exit_code, 0);
  EXPECT_THAT(result.finished.err, HasSubstr("is damaged in line"));
  EXPECT_THAT(rows_of(result.report, "Mul.Mul_1.14.3.1767607200001731,outputs,0"), ::testing::SizeIs(1));
  EXPECT_THAT(rows_of(result.report, "Exp.Exp_33.113.3.1767607200058854,outputs,0"), ::testing::IsEmpty());
  EXPECT_THAT(result.finished.out, Not(HasSubstr("dumped but not in the graph: 0")));
}

// Directories that lead back to one above them, which symbolic links can make.
TEST(TorchairCompare, LinksThatLeadUpAreNotFollowedForEver) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  copy_tree(fx, scratch / "golden");
  for (const char* name : {"a", "b", "c"}) {
    fs::create_directory_symlink("..", target / rank0 / name);
    fs::create_directory_symlink("..", scratch / "golden" / rank0 / name);
  }
  const Compared result = compare(target, scratch / "golden", scratch);
  EXPECT_EQ(result.finished.exit_code, 0) << result.finished.err;
  EXPECT_EQ(result.report.size(), 177U);
}

TEST(TorchairCompare, ManyWarningsOfAKindAreCounted) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  for (int i = 0; i < 40; ++i) write_file(target / ge_token / ("odd" + std::to_string(i)), "x");
  const auto warnings = [&](const std::vector<std::string>& further) {
    const Compared result = compare(target, fx, scratch, further);
    EXPECT_EQ(result.finished.exit_code, 0);
    std::size_t count = 0;
    const std::string text = "invalid file name: ";
    for (std::size_t at = 0; (at = result.finished.err.find(text, at)) != std::string::npos; ++at) ++count;
    return std::pair(count, result.finished.err);
  };
  const auto [few, text] = warnings({});
  EXPECT_EQ(few, 5U);
  EXPECT_THAT(text, HasSubstr("warning: and 37 more invalid file names (--verbose names all)\n"));
  EXPECT_EQ(warnings({"--verbose"}).first, 42U);
}

// Neither half a report nor the empty file that held its name.
TEST(TorchairCompare, AReportThatCannotBeWrittenIsNotThere) {
  const TemporaryDirectory scratch;
  const fs::path out = scratch / "out";
  const std::string command = "ulimit -f 20; '" + programs() + "/torchair_compare' -tp '" + ge_on.string() + "' -gp '" +
                              fx.string() + "' -o '" + out.string() + "' > /dev/null 2> '" +
                              (scratch / "err").string() + "'";
  const int status = std::system(("bash -c \"" + command + "\"").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_THAT(read_file(scratch / "err"), HasSubstr("cannot be written: File too large"));
  EXPECT_TRUE(fs::is_empty(out));
}

TEST(TorchairCompare, AnEmptyGraphTextIsRefused) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  write_file(target / graph_text, "");
  const Compared result = compare(target, fx, scratch);
  EXPECT_EQ(result.finished.exit_code, 2);
  EXPECT_THAT(result.finished.err, HasSubstr(graph_text + " holds no operators."));
  EXPECT_TRUE(result.report.empty());
}

TEST(TorchairCompare, ReportsDoNotReplaceOneAnother) {
  const TemporaryDirectory scratch;
  const fs::path out = scratch / "a" / "b";
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(msrun({"compare", "-m", "torchair", "-tp", ge_on.string(), "-gp", fx.string(), "-o", out.string()},
                    scratch.path())
                  .exit_code,
              0);
  }
  std::size_t reports = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with("_skipped.csv")) {
      ++reports;
      EXPECT_EQ(read_csv(entry.path()).size(), 177U) << name;
    }
  }
  EXPECT_EQ(reports, 3U);
}

TEST(TorchairCompare, NothingInCommonIsAnEmptyReport) {
  const TemporaryDirectory scratch;
  const Compared result = compare(ge_on, data / "trees/fx_quirks/msprobe_fx_dump", scratch);
  EXPECT_EQ(result.finished.exit_code, 0);
  EXPECT_THAT(result.finished.err, HasSubstr("My token_id 1 not found in golden dump data"));
  ASSERT_EQ(result.report.size(), 6U);  // two casts with themselves, and inputs of one node of the same name
  const TemporaryDirectory empty;
  fs::create_directories(empty / "golden" / "worldsize1_global_rank0/graph_1/7");
  write_file(empty / "golden" / "worldsize1_global_rank0/graph_1/7/a.INPUT.0.1.npy", "");
  const Compared none = compare(ge_on, empty / "golden", scratch);
  EXPECT_EQ(none.finished.exit_code, 0);
  EXPECT_EQ(none.report.size(), 1U);
  EXPECT_THAT(none.finished.err, HasSubstr("the report is empty"));
}

struct WrongUse {
  std::vector<std::string> words;
  std::string message;
};

TEST(TorchairCompare, WrongUseIsRefusedInPlainWords) {
  const TemporaryDirectory scratch;
  fs::create_directories(scratch / "empty");
  const std::string t = ge_on.string();
  const std::string g = fx.string();
  const std::string empty = (scratch / "empty").string();
  const std::vector<WrongUse> cases{
      {{"-tp", t}, "--golden_path is missing"},
      {{"-gp", g}, "--target_path is missing"},
      {{"-tp", t, "-gp", g, "--rank", "-1"}, "Argument --rank only supports a single integer when mode=='torchair'."},
      {{"-tp", t, "-gp", g, "--rank", "0,1"}, "Argument --rank only supports a single integer when mode=='torchair'."},
      {{"-tp", t, "-gp", g, "--stack_path", "x"},
       "unknown option --stack_path (torchair_compare -h lists all options)"},
      {{"-tp", t, "-gp", g, "-m", "auto"}, "mode auto is not supported"},
      {{"-tp", t, "-gp", g, "-gp", g}, "--golden_path is given more than once"},
      {{"-tp", t + "/nowhere", "-gp", g}, "cannot be read: No such file or directory"},
      {{"-tp", t + "/" + graph_text, "-gp", g}, "is no directory"},
      {{"-tp", t, "-gp", std::string(5000, 'x')}, "exceeds"},
      {{"-tp", empty, "-gp", g}, "Can not get ge graph, Please check whether the input path contains graph."},
      {{"-tp", empty, "-gp", g}, "/empty."},
      {{"-tp", t, "-gp", empty}, "Cannot get fx dump data, because the gathered_files_list is empty."},
      {{"-tp", t, "-gp", empty}, "/empty."},
      {{"-tp", t, "-gp", g, "--threads", "0"}, "--threads must be a whole number from 1"},
  };
  for (const WrongUse& wrong : cases) {
    std::vector<std::string> words{"compare", "-o", (scratch / "refused").string()};
    words.insert(words.end(), wrong.words.begin(), wrong.words.end());
    const Finished finished = msrun(words, scratch.path());
    EXPECT_EQ(finished.exit_code, 2) << wrong.message;
    EXPECT_THAT(finished.err, HasSubstr(wrong.message));
  }
  // Nothing was written before the input was known to be usable.
  EXPECT_TRUE(!fs::exists(scratch / "refused") || fs::is_empty(scratch / "refused"));
}

TEST(TorchairCompare, HelpNamesTheOptions) {
  const TemporaryDirectory scratch;
  const Finished help = msrun({"compare", "--help"}, scratch.path());
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("--target_path"), HasSubstr("--legacy_columns"), HasSubstr("--html")));
}

}  // namespace
}  // namespace msrun::testing
