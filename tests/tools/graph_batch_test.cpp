// graph over ranks and steps: the documented files, and the documented errors of folders that are not as they must be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <set>

#include "tests/support/sanitized.h"
#include "tests/tools/graph_support.h"
#include "tools/graph/stamp_claim.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

const Json null = nullptr;

GraphDump model() {
  GraphDump dump;
  return dump.call("Module.net.Net.forward.0", null).call("Functional.relu.0.forward", "Module.net.Net.forward.0");
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  if (!fs::exists(folder)) return names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

TEST(GraphBatch, WritesAFileForEveryRankAndOneDatabase) {
  GraphRun run;
  const Finished finished = run.run_with({"-tp", graph_data("dumps/batch/npu"), "-gp", graph_data("dumps/batch/bench"),
                                          "-o", (run.folder() / "out").string()});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const std::string stamp = "_[0-9]+";
  EXPECT_THAT(names_in(run.folder() / "out"),
              ::testing::ElementsAre(MatchesRegex("compare" + stamp + "\\.vis\\.db"),
                                     MatchesRegex("compare_step0_rank0" + stamp + "\\.vis"),
                                     MatchesRegex("compare_step0_rank1" + stamp + "\\.vis"),
                                     MatchesRegex("compare_step1_rank0" + stamp + "\\.vis"),
                                     MatchesRegex("compare_step1_rank1" + stamp + "\\.vis")));
  const Json expected =
      Json::parse(R"({"communications_type": "send", "nodes_info": {"1": ["0", "Distributed.recv.0.forward"]}})");
  const Json vis = run.vis("compare_step0_rank0");
  EXPECT_EQ(vis["NPU"]["node"]["Distributed.send.0.forward"]["matched_distributed"], expected);
  const fs::path database = run.file(".vis.db");
  for (const TableRow& row : table_rows(database, "tb_nodes")) {
    const bool bad = row.at("precision_index") != "NULL" && row.at("precision_index") != "0";
    EXPECT_TRUE(!bad || (row.at("step") == "1" && row.at("rank") == "1")) << row.at("id");
  }
  const TableRow config = table_rows(database, "tb_config").at(0);
  EXPECT_EQ(config.at("rank_list"), "[0, 1]");
  EXPECT_EQ(config.at("step_list"), "[0, 1]");
}

TEST(GraphBatch, OneRunAloneHasAStamp) {
  const TemporaryDirectory scratch;
  const Folder folder(scratch.path().string());
  const std::string stamp = "20260101000000";
  graph::StampClaim first;
  EXPECT_TRUE(first.take(folder, "build", stamp));
  {
    graph::StampClaim second;
    EXPECT_FALSE(second.take(folder, "build", stamp));
    EXPECT_TRUE(second.take(folder, "compare", stamp)) << "whose files have other names";
    EXPECT_TRUE(second.take(folder, "build", "20260101000001"));
  }
  EXPECT_EQ(scratch.names().size(), 1U);
  EXPECT_TRUE(first.take(folder, "build", "20260101000002"));
  // What a killed process has left is nobody's.
  scratch.write(".build_" + stamp + ".msrun.claim", "");
  EXPECT_TRUE(first.take(folder, "build", stamp));
  // Nobody writes into a FIFO of that name.
  ASSERT_EQ(mkfifo((scratch / ".build_20260101000003.msrun.claim").c_str(), 0600), 0);
  EXPECT_FALSE(first.take(folder, "build", "20260101000003"));
}

TEST(GraphBatch, DoesNotDependOnThreads) {
  GraphRun run;
  std::map<std::string, std::string> first;
  for (const char* threads : {"1", "2", "5"}) {
    const Finished finished =
        run.run_with({"-tp", graph_data("dumps/batch/npu"), "-gp", graph_data("dumps/batch/bench"), "-o",
                      (run.folder() / "out").string(), "--threads", threads});
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(run.folder() / "out")) {
      std::ifstream file(entry.path(), std::ios::binary);
      std::string name = entry.path().filename().string();
      name.erase(name.rfind('_'), 15);  // the time
      files[name] = {std::istreambuf_iterator<char>(file), {}};
    }
    if (first.empty()) first = files;
    EXPECT_TRUE(files == first) << threads << " threads";
  }
}

// More rows than are made at a time.
TEST(GraphBatch, ALargeDatabaseDoesNotDependOnThreads) {
  GraphRun run;
  GraphDump dump;
  for (int i = 0; i < 700; ++i) {
    const std::string module = "Module.part" + std::to_string(i) + ".Part.forward.0";
    const std::string call = "Functional.relu." + std::to_string(i) + ".forward";
    dump.call(module, nullptr).call(call, module, i, i);
    dump.stack[call] = {"File a.py, line " + std::to_string(i % 7) + ", in forward, \n x"};
  }
  dump.write(run.folder() / "npu");
  dump.write(run.folder() / "bench");
  std::string first;
  for (const char* threads : {"1", "2", "5"}) {
    fs::remove_all(run.folder() / "out");
    const Finished finished = run.run({"--format", "db", "--threads", threads});
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
    std::ifstream file(run.file(".vis.db"), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (first.empty()) first = bytes;
    EXPECT_TRUE(bytes == first) << threads << " threads";
  }
  const std::vector<TableRow> rows = table_rows(run.file(".vis.db"), "tb_nodes");
  ASSERT_EQ(rows.size(), 2U * 1401U);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].at("node_order"), std::to_string(i % 1401));
  EXPECT_EQ(table_rows(run.file(".vis.db"), "tb_stack").size(), 2U * 8U) << "seven lines, and none";
}

TEST(GraphBatch, TakesARankWithoutANumber) {
  GraphRun run;
  model().write(run.folder() / "npu" / "rank");
  ASSERT_EQ(run.run().exit_code, 0);
  EXPECT_THAT(run.file(".vis").filename().string(), MatchesRegex("build_rank_[0-9]+\\.vis"));
  EXPECT_EQ(node_row(run.file(".vis.db"), "Functional.relu.0.forward").at("rank"), "0");
}

TEST(GraphBatch, TakesTheFolderOfAProcess) {
  GraphRun run;
  model().write(run.folder() / "npu" / "step0" / "pid9527");
  model().write(run.folder() / "bench" / "step0" / "proc4711");
  const Finished finished = run.run();
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("3 matched with 3 of the benchmark"));
}

TEST(GraphBatch, CallsWithoutAGroupAreThoseOfAllRanks) {
  GraphRun run;
  for (const char* rank : {"rank0", "rank1"}) {
    model().call("Distributed.all_reduce.0.forward", "Module.net.Net.forward.0").write(run.folder() / "npu" / rank);
  }
  const Finished finished = run.run();
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  const Json expected = Json::parse(
      R"({"communications_type": "send_receive", "nodes_info": {"1": ["Nan", "Distributed.all_reduce.0.forward"]}})");
  const Json vis = run.vis("build_rank0");
  EXPECT_EQ(vis["node"]["Distributed.all_reduce.0.forward"]["matched_distributed"], expected);
}

TEST(GraphBatch, ARefusedCommandLeavesNoFolder) {
  GraphRun run;
  model().write(run.folder() / "npu");
  std::ofstream(run.folder() / "npu/dump.json") << "{";
  EXPECT_EQ(run.run().exit_code, 2);
  EXPECT_FALSE(fs::exists(run.folder() / "out"));
}

TEST(GraphBatch, AFailingRankDoesNotStopTheOthers) {
  GraphRun run;
  for (const char* rank : {"rank0", "rank1"}) model().write(run.folder() / "npu" / rank);
  std::ofstream(run.folder() / "npu/rank0/dump.json") << "{\"task\": \"statistics\", \"data\": {\"Tor";
  const Finished finished = run.run();
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("rank0/dump.json"));
  EXPECT_THAT(run.file(".vis").filename().string(), MatchesRegex("build_rank1_[0-9]+\\.vis"));
  for (const TableRow& row : table_rows(run.file(".vis.db"), "tb_nodes")) EXPECT_EQ(row.at("rank"), "1");
}

TEST(GraphBatch, RanksOfOneSideAloneAreNamed) {
  GraphRun run;
  for (const char* rank : {"rank0", "rank1"}) model().write(run.folder() / "npu" / rank);
  for (const char* rank : {"rank0", "rank2"}) model().write(run.folder() / "bench" / rank);
  const Finished refused = run.run();
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("The number of ranks in the two runs are different. Unable to match the ranks."));
  const Finished allowed = run.run({"--allow_missing"});
  EXPECT_EQ(allowed.exit_code, 0) << allowed.err;
  EXPECT_THAT(allowed.err, ::testing::AllOf(HasSubstr("npu/rank1 has no"), HasSubstr("bench/rank2 has no")));
  EXPECT_EQ(table_rows(run.file(".vis.db"), "tb_config").at(0).at("rank_list"), "[0]");
}

TEST(GraphBatch, StepsOfOneSideAloneAreNamed) {
  GraphRun run;
  model().write(run.folder() / "npu/step0/rank0");
  model().write(run.folder() / "npu/step1/rank0");
  model().write(run.folder() / "bench/step0/rank0");
  const Finished refused = run.run();
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("The number of steps in the two runs are different. Unable to match the steps."));
}

// A folder that is not as it must be, and what is said of it.
struct Broken {
  const char* name;
  std::vector<std::string> folders;  // below the recording
  std::vector<std::string> files;
  const char* error;
};

void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.name; }

class GraphBrokenFolders : public ::testing::TestWithParam<Broken> {};

INSTANTIATE_TEST_SUITE_P(
    Documented, GraphBrokenFolders,
    ::testing::Values(Broken{"Empty", {}, {}, "npu is empty."},
                      Broken{
                          "OtherFolders", {"logs", "rank0"}, {}, "does not conform to the expected naming convention"},
                      Broken{"Mixed", {"rank0", "step0"}, {}, "does not conform to the expected naming convention"},
                      Broken{"AFileBesideRanks", {"rank0"}, {"notes.txt"}, "notes.txt is invalid"},
                      Broken{"LeadingZero", {"rank0", "rank01"}, {}, "rank01 is invalid"},
                      Broken{"EmptyStep", {"step0"}, {}, "step0 is empty."},
                      Broken{"StepOfFiles", {"step0"}, {"step0/dump.json"}, "dump.json is invalid"},
                      Broken{"EmptyRank", {"rank0"}, {}, "construct.json does not exist"},
                      Broken{"NoConstruct", {}, {"dump.json", "stack.json"}, "construct.json does not exist"},
                      Broken{"NoStack", {}, {"dump.json", "construct.json"}, "stack.json does not exist"},
                      Broken{"NoDump", {}, {"construct.json", "stack.json"}, "dump.json does not exist"}),
    [](const auto& parameter) { return std::string(parameter.param.name); });

TEST_P(GraphBrokenFolders, AreRefusedInTheDocumentedWords) {
  GraphRun run;
  const fs::path npu = run.folder() / "npu";
  fs::create_directories(npu);
  for (const std::string& folder : GetParam().folders) fs::create_directories(npu / folder);
  for (const std::string& file : GetParam().files) {
    std::ofstream(npu / file) << (file == "construct.json" ? R"({"Module.a.A.forward.0": null})" : "{}");
  }
  const Finished finished = run.run();
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr(GetParam().error));
  EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1 + (finished.err.find("warning") != std::string::npos ? 1 : 0));
  EXPECT_TRUE(names_in(run.folder() / "out").empty()) << "no partial file";
}

TEST(GraphPaths, TwoKindsOfFoldersAreInconsistent) {
  GraphRun run;
  model().write(run.folder() / "npu/rank0");
  model().write(run.folder() / "bench");
  const Finished finished = run.run();
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("The directory structures of npu_path and bench_path are inconsistent."));
}

TEST(GraphPaths, AFileALinkAndSpecialCharactersAreRefused) {
  GraphRun run;
  model().write(run.folder() / "model");
  const auto error = [&](const std::string& path) {
    const Finished finished = run.run_with({"-tp", path, "-o", (run.folder() / "out").string()});
    EXPECT_EQ(finished.exit_code, 2) << path;
    return finished.err;
  };
  EXPECT_THAT(error((run.folder() / "model/dump.json").string()),
              HasSubstr("The npu_path or bench_path should be a folder."));
  fs::create_directory_symlink(run.folder() / "model", run.folder() / "link");
  EXPECT_THAT(error((run.folder() / "link").string()), HasSubstr("is a soft link"));
  fs::create_directories(run.folder() / "a b");
  EXPECT_THAT(error((run.folder() / "a b").string()), HasSubstr("special characters"));
  EXPECT_THAT(error((run.folder() / "nowhere").string()), HasSubstr("does not exist"));
  EXPECT_THAT(error("/" + std::string(300, 'x')), HasSubstr("graph: "));
}

// A rank that is not seen would be missing without a word.
TEST(GraphPaths, AFolderThatCannotBeReadToItsEndIsRefused) {
  if (sanitized) GTEST_SKIP() << "a sanitizer must be the first library that is loaded";
  GraphRun run;
  for (const char* rank : {"rank0", "rank1", "rank2"}) model().write(run.folder() / "npu" / rank);
  // The folder itself and the one above it are entries as well.
  for (const int entry : {3, 5}) {
    const Finished finished =
        Process({"-tp", run.folder() / "npu", "-o", run.folder() / "out"}, run.folder(),
                {std::string("LD_PRELOAD=") + FAILING_FILES, "MSRUN_FAIL_DIR=" + (run.folder() / "npu").string(),
                 "MSRUN_FAIL_READDIR=" + std::to_string(entry)},
                "graph")
            .wait();
    EXPECT_EQ(finished.exit_code, 2) << entry;
    EXPECT_THAT(finished.err, HasSubstr("npu cannot be read: Input/output error"));
  }
}

TEST(GraphPaths, TheComparisonFileGivesThePaths) {
  GraphRun run;
  model().write(run.folder() / "npu");
  model().write(run.folder() / "bench");
  const auto finished = [&](const std::string& text) {
    std::ofstream(run.folder() / "compare.json") << text;
    return run.run_with({"-i", (run.folder() / "compare.json").string(), "-o", (run.folder() / "out").string()});
  };
  Json paths = {{"npu_path", (run.folder() / "npu").string()}, {"bench_path", (run.folder() / "bench").string()}};
  EXPECT_EQ(finished(paths.dump()).exit_code, 0);
  EXPECT_TRUE(run.vis().contains("NPU"));
  for (const Json& absent : {Json(nullptr), Json("")}) {
    paths["bench_path"] = absent;
    EXPECT_EQ(finished(paths.dump()).exit_code, 0);
    EXPECT_TRUE(run.vis().contains("node"));
  }
  EXPECT_THAT(finished("{}").err, HasSubstr("has no npu_path"));
  EXPECT_THAT(finished("[]").err, HasSubstr("no JSON object"));
  EXPECT_THAT(finished("{\"npu_path\"").err, HasSubstr("is no JSON"));
  EXPECT_THAT(finished("{\"npu_path\": 5}").err, HasSubstr("npu_path is no text"));
  // A comparison that was asked for does not become the graph of one side.
  const std::string npu = "\"npu_path\": \"" + (run.folder() / "npu").string() + "\"";
  const Finished mistyped = finished("{" + npu + ", \"bench_pth\": \"b\"}");
  EXPECT_EQ(mistyped.exit_code, 2);
  EXPECT_THAT(mistyped.err, HasSubstr("the key bench_pth is not known, did you mean bench_path?"));
  // Files of other commands have keys of their own.
  const Finished others = finished("{" + npu + ", \"stack_path\": \"s\", \"rank_id\": 0}");
  EXPECT_EQ(others.exit_code, 0) << others.err;
  EXPECT_THAT(others.err, AllOf(HasSubstr("the key stack_path of the comparison file is not known and ignored"),
                                HasSubstr("the key rank_id")));
  EXPECT_THAT(finished("{" + npu + ", " + npu + "}").err, HasSubstr("the key npu_path is there twice"));
}

TEST(GraphPaths, TheCommandLineOfTheSeedIsAccepted) {
  GraphRun run;
  model().write(run.folder() / "npu");
  std::ofstream(run.folder() / "compare.json") << Json{{"npu_path", (run.folder() / "npu").string()}}.dump();
  const Finished finished = msrun({"-f", "mindspore", "graph", "-i", (run.folder() / "compare.json").string(), "-o",
                                   (run.folder() / "out").string(), "-lm", "-oc", "-f", "-cs"},
                                  run.folder());
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("recording of pytorch, not of mindspore"));
  EXPECT_EQ(run.vis()["OverflowCheck"], true);
}

TEST(GraphPaths, MergingOfRanksIsRefusedByName) {
  GraphRun run;
  model().write(run.folder() / "npu");
  const Finished finished = run.run({"--rank_size", "8"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("not merged"));
}

}  // namespace
}  // namespace msrun::testing
