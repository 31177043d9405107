// torchair_compare and directories: ranks, graphs, tokens, both layouts, and which dump a path names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/torchair_compare_support.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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

  EXPECT_THAT(all.finished.out + all.finished.err, Not(HasSubstr("ot compared")));

  // Only common ranks are compared, and the others named; a rank that one side lacks is refused.
  fs::remove_all(scratch / "golden" / rank0);
  fs::create_directories(scratch / "golden/worldsize2_global_rank3/graph_1/0");
  fs::create_directories(scratch / "golden/worldsize2_global_rank4/graph_1/0");
  const Compared common = compare(target, scratch / "golden", scratch);
  EXPECT_THAT(common.finished.out, AllOf(Not(HasSubstr("rank 0: 176")), HasSubstr("rank 1: 176 tensors"),
                                         HasSubstr("not compared: rank 0: there are no golden data\n"),
                                         HasSubstr("not compared: ranks 3, 4: there are golden data alone\n")));
  EXPECT_THAT(common.finished.err, AllOf(HasSubstr("warning: Not compared: rank 0: there are no golden data."),
                                         HasSubstr("warning: Not compared: ranks 3, 4: there are golden data alone.")));
  // Who names a rank wants no other.
  const Compared chosen = compare(target, scratch / "golden", scratch, {"--rank", "1"});
  EXPECT_THAT(chosen.finished.out + chosen.finished.err, Not(HasSubstr("ot compared")));
  fs::remove_all(scratch / "golden/worldsize2_global_rank3");
  fs::remove_all(scratch / "golden/worldsize2_global_rank4");
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
  EXPECT_EQ(none.finished.exit_code, 1);
  EXPECT_EQ(none.report.size(), 1U);
  EXPECT_THAT(none.finished.out, HasSubstr("Nothing was compared"));
}

// The rows of a report without their places on the disk.
Rows without_places(Rows rows) {
  const std::size_t mine = column(rows, "my_data_path");
  const std::size_t golden = column(rows, "golden_data_path");
  for (std::size_t i = 1; i < rows.size(); ++i) {
    for (const std::size_t k : {mine, golden}) rows[i][k].erase(0, rows[i][k].rfind('/') + 1);
  }
  return rows;
}

TEST(TorchairRoots, AnFxDumpIsFoundFromTheDirectoryAboveFromARankAndFromAGraph) {
  const TemporaryDirectory scratch;
  const Rows expected = compare(ge_on, fx, scratch).report;
  ASSERT_EQ(expected.size(), 177U);
  for (const fs::path& golden : {fx.parent_path(), fx / rank0, fx / rank0 / "graph_1"}) {
    SCOPED_TRACE(golden);
    const Compared result = compare(ge_on, golden, scratch);
    ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
    EXPECT_EQ(result.report, expected);
    EXPECT_THAT(result.report_path.filename().string(), ::testing::StartsWith("msprobe_cmp_report_rank0_"));
  }
  EXPECT_THAT(compare(ge_on, fx.parent_path(), scratch).finished.err,
              HasSubstr("The dump " + fs::canonical(fx).string() + " is used for --golden_path."));
}

// Without the directory of a rank only what is in the tokens tells how they are numbered.
TEST(TorchairRoots, TheGraphsOfARankMayBeCopiedElsewhere) {
  const TemporaryDirectory scratch;
  const Rows expected = without_places(compare(ge_on, fx, scratch).report);
  copy_tree(fx / rank0 / "graph_1", scratch / "golden" / "graph_1");
  for (const fs::path& golden : {scratch / "golden", scratch / "golden" / "graph_1"}) {
    const Compared result = compare(ge_on, golden, scratch);
    ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
    EXPECT_EQ(without_places(result.report), expected);
  }
}

TEST(TorchairRoots, AnOldFxDumpIsFoundFromTheDirectoriesAbove) {
  const TemporaryDirectory scratch;
  const fs::path target = data / "trees/ge_on_old/msprobe_ge_dump";
  const Rows expected = without_places(compare(target, data / "trees/fx_pre710/data_dump", scratch).report);
  ASSERT_EQ(expected.size(), 89U);
  copy_tree(data / "trees/fx_pre710/data_dump", scratch / "run" / "msprobe_fx_dump" / "data_dump");
  for (const fs::path& golden : {scratch / "run", scratch / "run" / "msprobe_fx_dump"}) {
    const Compared result = compare(target, golden, scratch);
    ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
    EXPECT_EQ(without_places(result.report), expected);
  }
}

TEST(TorchairRoots, OneTokenIsNoDump) {
  const TemporaryDirectory scratch;
  const fs::path old = data / "trees/fx_pre710/data_dump/1";
  for (const fs::path& golden : {fx / rank0 / "graph_1/0", old, old / "gm_20260105101500123456_dump"}) {
    const Compared result = compare(ge_on, golden, scratch);
    EXPECT_EQ(result.finished.exit_code, 2) << golden;
    EXPECT_THAT(result.finished.err, HasSubstr("is a single token of an FX dump. Give the directory that holds its "
                                               "tokens, "));
    EXPECT_TRUE(result.report.empty());
  }
}

// A job leaves both dumps in its working directory.
TEST(TorchairRoots, BothDumpsMayLieInOneDirectory) {
  const TemporaryDirectory scratch;
  const fs::path run = scratch / "run";
  copy_tree(ge_on, run / "msprobe_ge_dump");
  copy_tree(fx, run / "msprobe_fx_dump");
  const Rows expected = without_places(compare(ge_on, fx, scratch).report);
  for (const fs::path& target : {run, run / "msprobe_ge_dump", run / "msprobe_ge_dump" / rank0}) {
    for (const fs::path& golden : {run, run / "msprobe_fx_dump" / rank0}) {
      const Compared result = compare(target, golden, scratch);
      ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
      EXPECT_EQ(without_places(result.report), expected);
    }
  }
  // With a third dump it is not clear which is meant.
  copy_tree(data / "trees/ge_off/msprobe_ge_dump", run / "fusion_off");
  const Compared unclear = compare(run / "msprobe_ge_dump", run, scratch);
  EXPECT_EQ(unclear.finished.exit_code, 2);
  EXPECT_THAT(unclear.finished.err,
              AllOf(HasSubstr("Several dumps lie below "), HasSubstr("/run/fusion_off"), HasSubstr("msprobe_fx_dump. "),
                    HasSubstr("Give one of them as --golden_path.")));
  EXPECT_THAT(compare(run, fx, scratch).finished.err, HasSubstr("Give one of them as --target_path."));
}

TEST(TorchairRoots, ADumpIsNotComparedWithItselfByChance) {
  const TemporaryDirectory scratch;
  copy_tree(ge_on, scratch / "run" / "msprobe_ge_dump");
  const Compared result = compare(scratch / "run", scratch / "run", scratch);
  EXPECT_EQ(result.finished.exit_code, 2);
  EXPECT_THAT(result.finished.err, HasSubstr("holds no dump but "));
}

// If there are several ranks, the one that a path names is compared.
TEST(TorchairRoots, ThePathOfARankChoosesIt) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  const std::string rank1 = "worldsize2_global_rank1";
  copy_tree(target / rank0, target / rank1);
  std::string second = graph_text;
  second.replace(second.find("rank_0"), 6, "rank_1");
  fs::copy(target / graph_text, target / second);
  copy_tree(fx, scratch / "golden");
  copy_tree(fx / rank0, scratch / "golden" / rank1);
  for (const auto& [mine, golden] : {std::pair(target / rank1, scratch / "golden"),
                                     {target, scratch / "golden" / rank1},
                                     {target / rank1, scratch / "golden" / rank1}}) {
    const Compared result = compare(mine, golden, scratch);
    ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
    EXPECT_THAT(result.finished.out, AllOf(HasSubstr("rank 1: 176 tensors"), Not(HasSubstr("rank 0"))));
  }
  const Compared none = compare(target / rank1, scratch / "golden" / rank0, scratch);
  EXPECT_EQ(none.finished.exit_code, 2);
  EXPECT_THAT(none.finished.err, HasSubstr("No common rank data"));
}

TEST(TorchairRoots, TokensOfBothLayoutsInOneDirectoryAreRefused) {
  const TemporaryDirectory scratch;
  write_file(scratch / "stray", "");
  const fs::path golden = scratch / "golden";
  copy_tree(data / "trees/fx_pre710/data_dump/1", golden / "1");
  copy_tree(fx / rank0 / "graph_1/1", golden / "2");
  const Compared result = compare(ge_on, golden, scratch);
  EXPECT_EQ(result.finished.exit_code, 2);
  EXPECT_THAT(result.finished.err,
              HasSubstr("it is not clear whether they are called by their numbers or by one more"));
}

}  // namespace
}  // namespace msrun::testing
