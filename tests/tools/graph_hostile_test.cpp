// graph on recordings that are damaged or made to do harm: one line, or a graph, and never more time than the size
// asks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/support/sanitized.h"
#include "tests/tools/graph_support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

const Json null = nullptr;

GraphDump model() {
  GraphDump dump;
  return dump.call("Module.net.Net.forward.0", null).call("Functional.relu.0.forward", "Module.net.Net.forward.0");
}

// The tool on a model with one file replaced.
Finished with_file(GraphRun& run, const std::string& name, const std::string& text) {
  model().write(run.folder() / "npu");
  std::ofstream(run.folder() / "npu" / name) << text;
  return run.run();
}

TEST(GraphHostile, TruncatedFilesAreNamed) {
  for (const char* name : {"dump.json", "construct.json", "stack.json"}) {
    GraphRun run;
    const Finished finished = with_file(run, name, R"({"Module.net.Net.forward.0": )");
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_THAT(finished.err, HasSubstr(name));
    EXPECT_FALSE(fs::exists(run.folder() / "out"));
  }
}

TEST(GraphHostile, FilesOfOtherKindsAreNamed) {
  for (const char* text : {"[]", "5", "", "{\"data\": []}"}) {
    GraphRun run;
    const Finished finished = with_file(run, "dump.json", text);
    EXPECT_EQ(finished.exit_code, 2) << text;
    EXPECT_THAT(finished.err, HasSubstr("dump.json"));
  }
  for (const char* text : {R"({"Module.a.A.forward.0": [null, 0, 1]})", R"({"Module.a.A.forward.0": 5})",
                           R"({"megatron_micro_step_number": -1, "Module.a.A.forward.0": null})"}) {
    GraphRun run;
    const Finished finished = with_file(run, "construct.json", text);
    EXPECT_EQ(finished.exit_code, 2) << text;
    EXPECT_THAT(finished.err, HasSubstr("construct.json"));
  }
}

// A killed process leaves the database that it was at: the next one removes it, and no other's.
TEST(GraphHostile, WhatTheKilledLeaveIsRemovedByTheNext) {
  GraphRun run;
  model().write(run.folder() / "npu");
  fs::create_directories(run.folder() / "real");
  fs::create_directory_symlink("real", run.folder() / "out");
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  const std::string prefix = std::string(".graph.vis.db.") + host + ".";
  const std::string of_parent = prefix + std::to_string(::getppid()) + ".1.tmp";
  const std::string of_dead = prefix + "999999999.1.tmp";
  for (const std::string& name : {of_parent, of_dead}) write_file(run.folder() / "real" / name, "left over");
  const Finished finished = run_tool("graph", {"-tp", run.folder() / "npu", "-o", run.folder() / "out"}, run.folder());
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_TRUE(fs::exists(run.folder() / "real" / of_parent));
  EXPECT_FALSE(fs::exists(run.folder() / "real" / of_dead));
  EXPECT_FALSE(table_rows(run.file(".vis.db", "build"), "tb_nodes").empty());
}

// Where a file system or a kernel cannot rename without replacing.
TEST(GraphHostile, TheDatabaseGetsItsNameOnOldSystems) {
  if (sanitized) GTEST_SKIP() << "a sanitizer must be the first library that is loaded";
  for (const int code : {EINVAL, ENOSYS}) {
    GraphRun run;
    model().write(run.folder() / "npu");
    const fs::path out = run.folder() / "out";
    const Finished finished = Process({"-tp", run.folder() / "npu", "-o", out}, run.folder(),
                                      {std::string("LD_PRELOAD=") + HOSTILE_FILES, "MSRUN_HOSTILE_DIR=" + out.string(),
                                       "MSRUN_HOSTILE_OLD=" + std::to_string(code)},
                                      "graph")
                                  .wait();
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_FALSE(table_rows(run.file(".vis.db", "build"), "tb_nodes").empty());
    for (const auto& entry : fs::directory_iterator(out)) EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  }
}

// A probe of another process has the name that all of them once had: it proves nothing about the folder.
TEST(GraphHostile, TheProbeOfAnotherProcessIsNotInTheWay) {
  if (sanitized) GTEST_SKIP() << "a sanitizer must be the first library that is loaded";
  GraphRun run;
  model().write(run.folder() / "npu");
  const fs::path out = run.folder() / "out";
  fs::create_directories(out / ".msrun_probe.tmp");  // which nobody removes
  const Finished finished =
      Process({"-tp", run.folder() / "npu", "-o", out}, run.folder(),
              {std::string("LD_PRELOAD=") + HOSTILE_FILES, "MSRUN_HOSTILE_DIR=" + out.string(), "MSRUN_HOSTILE_OLD=1"},
              "graph")
          .wait();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
}

TEST(GraphHostile, ANodeThatIsItsOwnParentIsShownBelowTheRoot) {
  GraphRun run;
  const Finished finished = with_file(run, "construct.json", R"({"Module.a.A.forward.0": "Module.a.A.forward.0"})");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(run.vis()["node"]["Module.a.A.forward.0"]["upnode"], "DefaultModel");
}

TEST(GraphHostile, TheRootIsNoChildOfAnything) {
  GraphRun run;
  const Finished finished =
      with_file(run, "construct.json", R"({"DefaultModel": "Module.a.A.forward.0", "Module.a.A.forward.0": null})");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(run.vis()["node"]["DefaultModel"]["upnode"], "None");
}

TEST(GraphHostile, LongCirclesAndDeepTreesAreBuilt) {
  // A tree this deep is beyond any stack that recursion has.
  constexpr int depth = 4000;
  for (const bool circle : {false, true}) {
    GraphRun run;
    GraphDump dump;
    const auto name = [](int i) { return "Module.m" + std::to_string(i) + ".M.forward.0"; };
    dump.construct[name(0)] = circle ? Json(name(depth - 1)) : null;
    for (int i = 1; i < depth; ++i) dump.construct[name(i)] = name(i - 1);
    dump.write(run.folder() / "npu");
    const Finished finished = run.run({"--format", "db"});
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(table_rows(run.file(".vis.db"), "tb_nodes").size(), depth + 1U);
    EXPECT_THAT(circle ? finished.err : "a cycle", HasSubstr("a cycle"));
  }
}

// Every matched node of a file has the names of all above its partner.
TEST(GraphHostile, PathsThatNobodyCouldKeepAreRefused) {
  constexpr int depth = 9000;
  GraphRun run;
  GraphDump dump;
  const auto name = [](int i) { return "Module.m" + std::to_string(i) + ".M.forward.0"; };
  dump.construct[name(0)] = null;
  for (int i = 1; i < depth; ++i) dump.construct[name(i)] = name(i - 1);
  dump.call("Torch.exp.0.forward", name(0));
  dump.write(run.folder() / "npu");
  dump.write(run.folder() / "bench");
  for (const char* format : {"db", "vis", "both"}) {
    const Finished finished = run.run({"--format", format});
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_THAT(finished.err, HasSubstr("on average 4"));
    EXPECT_FALSE(fs::exists(run.folder() / "out"));
  }
  EXPECT_EQ(run.run({"--format", "html"}).exit_code, 0);
}

TEST(GraphHostile, ArgumentsNestedTooDeepAreRefused) {
  GraphRun run;
  GraphDump dump = model();
  Json nested = graph_tensor(1);
  for (int i = 0; i < 12; ++i) nested = Json::array({nested});
  dump.data["Functional.relu.0.forward"]["input_args"] = nested;
  dump.write(run.folder() / "npu");
  const Finished finished = run.run();
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, ::testing::AllOf(HasSubstr("dump.json"), HasSubstr("Functional.relu.0.forward")));
  const Finished deep = with_file(
      run, "dump.json",
      R"({"task": "statistics", "data": {"a": )" + std::string(100'000, '[') + std::string(100'000, ']') + "}}");
  EXPECT_EQ(deep.exit_code, 2);
  EXPECT_THAT(deep.err, HasSubstr("nested"));
}

TEST(GraphHostile, ForeignTextsComeOutAsJson) {
  GraphRun run;
  GraphDump dump = model();
  const std::string odd = "Module.\"\\\n\t\x01\xC3\xA4.O.forward.0";
  dump.call(odd, null);
  dump.stack[odd] = {"File \xF0\x9F\x98\x80.py, line 1, in f, \n </script>"};
  dump.write(run.folder() / "npu");
  const Finished finished = run.run();
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(run.vis()["node"][odd]["stack_info"][0], dump.stack[odd][0]);
  const TableRow row = node_row(run.file(".vis.db"), odd);
  EXPECT_TRUE(Json::parse(row.at("input_data")).contains(odd + ".input.0"));
}

TEST(GraphHostile, GroupsOfCallsTakeNoRecordedName) {
  GraphRun run;
  GraphDump dump;
  dump.call("Functional.relu.0.forward", null).call("Functional.gelu.0.forward", null);
  dump.call("Apis_Between_Modules.0", null).call("Apis_Between_Modules.2", null);
  dump.call("Functional.relu.1.forward", null).call("Functional.gelu.1.forward", null);
  dump.write(run.folder() / "npu");
  const Finished finished = run.run();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const Json nodes = run.vis()["node"];
  const Json children = {"Apis_Between_Modules.1", "Apis_Between_Modules.0", "Apis_Between_Modules.2",
                         "Apis_Between_Modules.3"};
  EXPECT_EQ(nodes["DefaultModel"]["subnodes"], children);
  EXPECT_EQ(nodes["Apis_Between_Modules.0"]["node_type"], 0);
  EXPECT_EQ(nodes["Apis_Between_Modules.1"]["node_type"], 9);
  EXPECT_EQ(node_row(run.file(".vis.db"), "Apis_Between_Modules.0").at("node_type"), "0");
  EXPECT_EQ(node_row(run.file(".vis.db"), "Apis_Between_Modules.3").at("node_type"), "9");
}

TEST(GraphHostile, AnEmptyNameIsAName) {
  GraphRun run;
  GraphDump dump = model();
  dump.call("", null);
  dump.write(run.folder() / "npu");
  const Finished finished = run.run();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(node_row(run.file(".vis.db"), "").at("up_node"), "DefaultModel");
}

// Keyword arguments may be called "0", and two tensors may have been given one file.
TEST(GraphHostile, ParametersOfOneNameAreOneAsInPython) {
  GraphRun run;
  GraphDump dump = model();
  Json& call = dump.data["Functional.relu.0.forward"];
  call["input_args"] = {graph_tensor(1), graph_tensor(2)};
  call["input_kwargs"] = Json::object();
  call["input_kwargs"]["0"] = graph_tensor(3);
  call["output"] = {graph_tensor(4), graph_tensor(5)};
  for (Json& output : call["output"]) output["data_name"] = "Functional.relu.0.forward.output.0.pt";
  dump.write(run.folder() / "npu");
  const Finished finished = run.run();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  std::ifstream file(run.file(".vis"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string name = "\"Functional.relu.0.forward.input.0\"";
  EXPECT_EQ(text.find(name), text.rfind(name));
  const Json node = run.vis()["node"]["Functional.relu.0.forward"];
  EXPECT_EQ(node["input_data"].size(), 2U);
  EXPECT_EQ(node["input_data"].begin().key(), "Functional.relu.0.forward.input.0");
  EXPECT_EQ(node["input_data"].begin().value()["Max"], "3.0");
  ASSERT_EQ(node["output_data"].size(), 1U);
  EXPECT_EQ(node["output_data"].begin().value()["Max"], "5.0");
  const Json row = Json::parse(node_row(run.file(".vis.db"), "Functional.relu.0.forward").at("input_data"));
  EXPECT_EQ(row["Functional.relu.0.forward.input.0"]["Max"], "3.0");
}

TEST(GraphHostile, TensorsOutsideTheRecordingAreNotRead) {
  GraphRun run;
  for (const char* side : {"npu", "bench"}) {
    GraphDump dump = model();
    dump.header["task"] = "tensor";
    dump.write(run.folder() / side);
    fs::copy(
        graph_data(std::string("dumps/ms_tensor/") + side + "/dump_tensor_data/Mint.matmul.0.forward.output.0.npy"),
        run.folder() / (std::string(side) + ".npy"));
    dump.data["Functional.relu.0.forward"]["output"][0]["data_name"] = "../../" + std::string(side) + ".npy";
    fs::create_directories(run.folder() / side / "dump_tensor_data");
    fs::create_symlink(run.folder() / (std::string(side) + ".npy"),
                       run.folder() / side / "dump_tensor_data/Functional.relu.0.forward.input.0.npy");
    dump.data["Functional.relu.0.forward"]["input_args"][0]["data_name"] = "Functional.relu.0.forward.input.0.npy";
    dump.write(run.folder() / side);
  }
  const Finished finished = run.run();
  ASSERT_EQ(finished.exit_code, 1) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("2 pairs of tensors could not be compared"));
  EXPECT_THAT(finished.err, HasSubstr("lies outside the folder of the dump and is not read."));
  EXPECT_THAT(finished.out, HasSubstr("Nothing was compared"));
  const Json node = run.vis()["NPU"]["node"]["Functional.relu.0.forward"];
  EXPECT_EQ(node["data"]["precision_index"], 1);
  for (const char* side : {"input_data", "output_data"}) {
    for (const auto& parameter : node[side]) EXPECT_EQ(parameter["Cosine"], "unsupported") << parameter.dump();
  }
}

TEST(GraphHostile, DumpsThatDoNotGoTogetherAreRefused) {
  GraphRun run;
  GraphDump dump = model();
  dump.write(run.folder() / "npu");
  dump.header["task"] = "tensor";
  dump.write(run.folder() / "bench");
  EXPECT_THAT(run.run().err, HasSubstr("Please check the dump task is consistent."));
  dump.header["task"] = "statistics";
  dump.data["Functional.relu.0.forward"]["output"][0]["md5"] = "00000001";
  dump.write(run.folder() / "bench");
  const Finished finished = run.run();
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("should both be statistics or md5"));
}

TEST(GraphHostile, NamesThatOccurAgainAreTold) {
  GraphRun run;
  model().write(run.folder() / "npu");
  const fs::path dump = run.folder() / "npu/dump.json";
  const std::string once = read_file(dump);
  const std::size_t data = once.find('{', once.find("\"data\"")) + 1;
  std::ofstream(dump) << once.substr(0, data) << R"("Functional.relu.0.forward": {"input_args": [], "output": []},)"
                      << once.substr(data);
  const std::vector<std::string> words{"-tp", run.folder() / "npu", "-o", run.folder() / "out"};
  const Finished finished = run_tool("graph", words, run.folder());
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("graph: warning: Entries of " + dump.string() +
                                      " that occur again, the later in place of the earlier: 1; the first is "
                                      "'Functional.relu.0.forward'."));
  std::ofstream(dump) << once;
  EXPECT_EQ(run_tool("graph", words, run.folder()).err, "");
}

TEST(GraphHostile, AMappingThatIsNoneIsNotEffective) {
  GraphRun run;
  model().write(run.folder() / "npu");
  model().write(run.folder() / "bench");
  std::ofstream(run.folder() / "map.yaml") << "TopLayer: [1, 2";
  const Finished finished = run.run({"-lm", (run.folder() / "map.yaml").string()});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.err, HasSubstr("The layer mapping file parsing failed"));
  EXPECT_FALSE(run.vis()["NPU"]["node"]["Functional.relu.0.forward"]["matched_node_link"].empty());
  std::ofstream(run.folder() / "twice.yaml") << "TopLayer:\n  fc: linear\nTopLayer:\n  fc: dense\n";
  EXPECT_THAT(run.run({"-lm", (run.folder() / "twice.yaml").string()}).err,
              HasSubstr("mapping is not effective. (The layer mapping file " + (run.folder() / "twice.yaml").string() +
                        " has the key TopLayer twice.)"));
  std::ofstream(run.folder() / "cut.yaml") << "TopLayer:\n  fc: \"lin";
  const Finished cut = run.run({"-lm", (run.folder() / "cut.yaml").string()});
  EXPECT_EQ(cut.exit_code, 0);
  EXPECT_THAT(cut.err, HasSubstr("it ends inside a quotation"));
  std::ofstream(run.folder() / "unused.yaml") << "TopLayer:\n  no_layer: linear\n";
  const Finished unused = run.run({"-lm", (run.folder() / "unused.yaml").string()});
  EXPECT_EQ(unused.exit_code, 0);
  EXPECT_THAT(unused.err, HasSubstr("unused.yaml, line 2: TopLayer.no_layer is no layer of "));
  const Finished missing = run.run({"-lm", (run.folder() / "nowhere.yaml").string()});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("nowhere.yaml"));
  fs::create_directories(run.folder() / "folder.yaml");
  const Finished folder = run.run({"-lm", (run.folder() / "folder.yaml").string()});
  EXPECT_EQ(folder.exit_code, 2) << folder.out;
  EXPECT_THAT(folder.err, HasSubstr("folder.yaml"));
}

// Runs within one second have names of their own.
TEST(GraphHostile, NoRunReplacesTheFilesOfAnother) {
  GraphRun run;
  model().write(run.folder() / "npu");
  const std::vector<std::string> arguments{"-tp", (run.folder() / "npu").string(), "-o",
                                           (run.folder() / "out").string()};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run_tool("graph", arguments, run.folder()).exit_code, 0);
  std::map<std::string, int> kinds;
  for (const fs::directory_entry& file : fs::directory_iterator(run.folder() / "out"))
    ++kinds[file.path().extension().string()];
  EXPECT_EQ(kinds, (std::map<std::string, int>{{".vis", 3}, {".db", 3}}));
}

}  // namespace
}  // namespace msrun::testing
