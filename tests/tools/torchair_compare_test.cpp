// torchair_compare end to end, as a user runs it: summary, options, wrong use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cmath>
#include <cstdlib>

#include "tests/tools/torchair_compare_support.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(TorchairCompare, ResultsDoNotDependOnThreads) {
  const TemporaryDirectory scratch;
  const Compared one = compare(ge_on, fx, scratch, {"--threads", "1"});
  const Compared many = compare(ge_on, fx, scratch, {"--threads", "7"});
  EXPECT_EQ(read_file(one.report_path), read_file(many.report_path));
}

TEST(TorchairCompare, SummaryCountsRowsAndNamesTheFirstFailure) {
  const TemporaryDirectory scratch;
  const Compared result = compare(ge_on, fx, scratch);
  EXPECT_THAT(result.finished.out, HasSubstr("rank 0: 176 tensors compared: 164 passed, 12 failed; 6 skipped"));
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
  ASSERT_EQ(result.finished.exit_code, 1) << result.finished.err;
  std::size_t without = 0;
  for (std::size_t i = 1; i < result.skipped.size(); ++i) {
    if (cell(result.skipped, i, "reason") == "checksum not available.") ++without;
  }
  EXPECT_GT(without, 100U);
  // What is left are the files that were not converted.
  for (std::size_t i = 1; i < result.report.size(); ++i) {
    EXPECT_EQ(cell(result.report, i, "my_data_path").find("_min_max"), std::string::npos) << i;
  }
}

TEST(TorchairCompare, WhatHasNoChecksumIsNeitherPassedNorFailed) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  const std::string convert =
      programs() + "/torchair_convert --once --settle 0 '" + target.string() + "' > /dev/null 2>&1";
  ASSERT_EQ(std::system(convert.c_str()), 0) << convert;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(target / rank0)) {
    if (entry.is_regular_file() && !entry.path().string().ends_with(".npz")) fs::remove(entry.path());
  }
  const Compared result = compare(target, target, scratch, {"--md5"});
  EXPECT_EQ(result.finished.exit_code, 1) << result.finished.err;
  EXPECT_EQ(count_of_result(result.report, "FAIL"), 0U);
  EXPECT_GT(result.skipped.size(), 100U);
  EXPECT_EQ(cell(result.skipped, 1, "reason"), "checksum not available.");
}

TEST(TorchairCompare, NothingInCommonIsNoSuccess) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  const fs::path tokens = (target / ge_token).parent_path();
  fs::rename(tokens / "0", tokens / "7");
  fs::rename(tokens / "1", tokens / "8");
  const Compared result = compare(target, ge_on, scratch);
  EXPECT_EQ(result.finished.exit_code, 1) << result.finished.err;
  EXPECT_THAT(result.finished.out, HasSubstr("Nothing was compared: "));
  // What belongs to other tokens was dumped all the same.
  EXPECT_THAT(result.finished.out, HasSubstr("in the graph but not dumped: 4\n"));
}

TEST(TorchairCompare, WhatTheGoldenDumpAloneHasIsNamedAndCounted) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  fs::remove(target / ge_token / "Log.Log_13.50.3.1767607200022503");
  const Compared result = compare(target, ge_on, scratch);
  ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
  EXPECT_THAT(result.finished.err, HasSubstr("My data missing, golden GE tensor name: Log_13, token_id 0"));
  EXPECT_THAT(result.finished.out, HasSubstr("operators of which the golden dump alone has data, or more: 1\n"));
  EXPECT_THAT(compare(target, target, scratch).finished.out, Not(HasSubstr("golden dump alone")));
}

TEST(TorchairCompare, TensorsBeyondThoseOfTheOtherFileAreCounted) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  // An operator with other numbers of inputs and outputs takes the place of another.
  fs::copy_file(target / ge_token / "Abs.Abs_16.62.4.1767607200029427",
                target / ge_token / "Mul.Mul_1.14.3.1767607200001731", fs::copy_options::overwrite_existing);
  const Compared less = compare(target, ge_on, scratch);
  EXPECT_THAT(less.finished.err, HasSubstr("Of the tensors of Mul_1, token_id 0, 1 are in the golden dump alone"));
  EXPECT_THAT(less.finished.out, HasSubstr("operators of which the golden dump alone has data, or more: 1\n"));
  const Compared more = compare(ge_on, target, scratch);
  EXPECT_THAT(more.finished.err, HasSubstr("Of the tensors of Mul_1, token_id 0, 1 are in the dump to compare alone"));
  EXPECT_THAT(more.finished.out, HasSubstr("without golden data: 1,"));
}

TEST(TorchairCompare, WhatStandsInThePlaceOfAFileLosesNoToken) {
  const TemporaryDirectory scratch;
  const fs::path golden = own_target(scratch, "golden");
  const fs::path file = golden / ge_token / "Log.Log_13.50.3.1767607200022503";
  for (const bool is_directory : {true, false}) {
    SCOPED_TRACE(is_directory);
    fs::remove(file);
    ASSERT_TRUE(is_directory ? fs::create_directory(file) : ::mkfifo(file.c_str(), 0600) == 0);
    const Compared result = compare(ge_on, golden, scratch);
    ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
    EXPECT_THAT(result.finished.err, HasSubstr(file.string() + " stands in the place of a file and is not read."));
    EXPECT_THAT(result.finished.out, HasSubstr("192 tensors compared: 192 passed"));
    EXPECT_THAT(result.finished.out, HasSubstr("without golden data: 1,"));
  }
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
    if (same.size() != 1 || !number(cell(real.report, same[0], "L2norm diff"))) continue;
    if (cell(real.report, same[0], "L2norm diff") == "NaN") continue;
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

// A text without end takes no memory, and costs no more than its own column.
TEST(TorchairCompare, StackInfoOfATextOfAnySizeIsLeftOut) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  const fs::path text = target / "dynamo_original_graph_1_rank_0_pid_4242_ts_20260105101500123456.py";
  write_file(text, "    # File \"/model.py\", line 7, in forward\n");
  fs::resize_file(text, std::uintmax_t{100} << 30);
  const Compared result = compare(target, fx, scratch);
  EXPECT_EQ(result.finished.exit_code, 0);
  EXPECT_THAT(result.finished.out + result.finished.err, ::testing::HasSubstr("is too large to be read"));
  EXPECT_EQ(cell(result.report, 1, "Stack Info"), "N/A");
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
    std::vector<std::string> words{"-o", (scratch / "refused").string()};
    words.insert(words.end(), wrong.words.begin(), wrong.words.end());
    const Finished finished = run_tool("torchair_compare", words, scratch.path());
    EXPECT_EQ(finished.exit_code, 2) << wrong.message;
    EXPECT_THAT(finished.err, HasSubstr(wrong.message));
  }
  // Nothing was written before the input was known to be usable.
  EXPECT_TRUE(!fs::exists(scratch / "refused") || fs::is_empty(scratch / "refused"));
}

TEST(TorchairCompare, HelpNamesTheOptions) {
  const TemporaryDirectory scratch;
  const Finished help = msrun({"compare", "--mode", "torchair", "--help"}, scratch.path());
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("--target_path"), HasSubstr("--legacy_columns"), HasSubstr("--html")));
}

}  // namespace
}  // namespace msrun::testing
