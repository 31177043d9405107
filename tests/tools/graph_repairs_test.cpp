// What graph does otherwise than msprobe 1.2.1, each under the number that it has in the specification. One test
// a repair, hence longer than other files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "tests/tools/graph_support.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Json null = nullptr;

// A module that calls one function, with its backward.
GraphDump small_model() {
  GraphDump dump;
  dump.call("Module.net.Net.forward.0", null)
      .call("Functional.relu.0.forward", "Module.net.Net.forward.0")
      .call("Module.net.Net.backward.0", null)
      .call("Functional.relu.0.backward", "Module.net.Net.backward.0");
  return dump;
}

std::string only(const GraphRun& run, const Finished& finished) {
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  static_cast<void>(run);
  return finished.err;
}

TEST(GraphRepairs, R1RefusesAnEmptyConstruct) {
  GraphRun run;
  GraphDump dump = small_model();
  dump.construct = Json::object();
  dump.write(run.folder() / "npu");
  const Finished finished = run.run();
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("construct.json"), HasSubstr("level L0 or mix")));
  EXPECT_TRUE(!fs::exists(run.folder() / "out") || fs::is_empty(run.folder() / "out"));
}

TEST(GraphRepairs, R2ReadsGroupedStacksAndMicroSteps) {
  GraphRun run;
  GraphDump dump;
  dump.call("Module.net.Net.forward.0", Json::array({null, 0}))
      .call("Module.net.Net.forward.1", Json::array({null, 1}));
  dump.construct["megatron_micro_step_number"] = 1;
  dump.stack["0"] = {{"Module.net.Net.forward.0", "Module.net.Net.forward.1"}, {"File a.py, line 1, in forward, \n x"}};
  dump.write(run.folder() / "npu");
  only(run, run.run());
  const Json vis = run.vis();
  EXPECT_EQ(vis["MicroSteps"], 2);
  EXPECT_EQ(vis["node"]["Module.net.Net.forward.1"]["micro_step_id"], 1);
  EXPECT_EQ(vis["node"]["Module.net.Net.forward.1"]["stack_info"].size(), 1U);
  EXPECT_EQ(node_row(run.file(".vis.db"), "Module.net.Net.forward.1").at("micro_step_id"), "1");
}

TEST(GraphRepairs, R3TakesUnknownPrefixesForModules) {
  GraphRun run;
  GraphDump dump = small_model();
  dump.call("Strange.thing.0.forward", null).call("Strange.other.0.forward", null).call("optimizer", null);
  dump.write(run.folder() / "npu");
  const std::string warnings = only(run, run.run());
  const Json nodes = run.vis()["node"];
  EXPECT_EQ(nodes["Strange.thing.0.forward"]["node_type"], 0);
  EXPECT_EQ(nodes["optimizer"]["node_type"], 0);
  EXPECT_THAT(warnings, HasSubstr("Strange"));
  EXPECT_EQ(warnings.find("Strange"), warnings.rfind("Strange")) << "one warning for each prefix";
  EXPECT_THAT(warnings, Not(HasSubstr("optimizer")));
}

TEST(GraphRepairs, R4AttachesOrphansAndCirclesToTheRoot) {
  GraphRun run;
  GraphDump dump = small_model();
  dump.call("Functional.gelu.0.forward", "Module.lost.Lost.forward.0");
  dump.call("Module.a.A.forward.0", "Module.b.B.forward.0").call("Module.b.B.forward.0", "Module.a.A.forward.0");
  dump.write(run.folder() / "npu");
  const std::string warnings = only(run, run.run());
  const Json nodes = run.vis()["node"];
  EXPECT_EQ(nodes["Module.lost.Lost.forward.0"]["upnode"], "DefaultModel");
  // The second line closed the circle.
  EXPECT_EQ(nodes["Module.a.A.forward.0"]["upnode"], "Module.b.B.forward.0");
  EXPECT_EQ(nodes["Module.b.B.forward.0"]["upnode"], "DefaultModel");
  EXPECT_THAT(warnings, AllOf(HasSubstr("Module.lost.Lost.forward.0"), HasSubstr("Detected a cycle")));
}

TEST(GraphRepairs, R5FindsTheBackwardParentOfCalls) {
  GraphRun run;
  GraphDump dump = small_model();
  dump.construct["Functional.relu.0.backward"] = nullptr;
  dump.write(run.folder() / "npu");
  only(run, run.run({"--format", "vis"}));
  EXPECT_EQ(run.vis()["node"]["Functional.relu.0.backward"]["upnode"], "Module.net.Net.backward.0");
  only(run, run.run({"--format", "vis", "--compat", "1.2.1"}));
  EXPECT_EQ(run.vis()["node"]["Functional.relu.0.backward"]["upnode"], "DefaultModel");
}

TEST(GraphRepairs, R5MovesABackwardModuleThatAnInPlaceFunctionDisplaced) {
  GraphRun run;
  GraphDump dump;
  dump.call("Module.net.Net.forward.0", null)
      .call("Module.net.block.Block.forward.0", "Module.net.Net.forward.0")
      .call("Module.net.block.act.ReLU.forward.0", "Module.net.block.Block.forward.0")
      .call("Module.net.Net.backward.0", null)
      .call("Module.net.block.Block.backward.0", "Module.net.Net.backward.0")
      .call("Module.net.block.act.ReLU.backward.0", "Module.net.Net.backward.0");
  dump.write(run.folder() / "npu");
  only(run, run.run({"--format", "vis"}));
  EXPECT_EQ(run.vis()["node"]["Module.net.block.act.ReLU.backward.0"]["upnode"], "Module.net.block.Block.backward.0");
  only(run, run.run({"--format", "vis", "--compat", "1.2.1"}));
  EXPECT_EQ(run.vis()["node"]["Module.net.block.act.ReLU.backward.0"]["upnode"], "Module.net.Net.backward.0");
}

TEST(GraphRepairs, R5MovesRecomputedModulesBelowTheBackwardOfTheirParent) {
  GraphRun run;
  GraphDump dump;
  const std::string layer = "Module.0.net.decoder.layers.0.TransformerLayer.";
  dump.call("Module.0.net.decoder.Block.forward.0", null)
      .call(layer + "forward.0", "Module.0.net.decoder.Block.forward.0")
      .call("Module.0.net.decoder.Block.backward.0", null)
      .call(layer + "forward.1", null)
      .call(layer + "backward.1", null)
      .call(layer + "backward.0", "Module.0.net.decoder.Block.backward.0");
  dump.stack[layer + "forward.1"] = {"File model.py, line 1, in forward, \n h = self.layers(h)",
                                     "File /usr/torch/utils/checkpoint.py, line 9, in recompute_fn, \n fn(*args)"};
  dump.write(run.folder() / "npu");
  only(run, run.run({"--format", "vis"}));
  EXPECT_EQ(run.vis()["node"][layer + "forward.1"]["upnode"], "Module.0.net.decoder.Block.backward.0");
  EXPECT_EQ(run.vis()["node"][layer + "backward.1"]["upnode"], "Module.0.net.decoder.Block.backward.0");
  only(run, run.run({"--format", "vis", "--compat", "1.2.1"}));
  EXPECT_EQ(run.vis()["node"][layer + "forward.1"]["upnode"], "DefaultModel");
}

TEST(GraphRepairs, R6ShowsGradientsOfParameters) {
  GraphRun run;
  GraphDump dump = small_model();
  dump.data["Module.net.Net.parameters_grad"] = {{"weight", Json::array({graph_tensor(3)})}};
  dump.data["Module.net.Other.parameters_grad"] = {{"weight", Json::array({graph_tensor(3)})}};
  dump.write(run.folder() / "npu");
  only(run, run.run());
  const Json nodes = run.vis()["node"];
  EXPECT_EQ(nodes["Module.net.Net.parameters_grad"]["upnode"], "Module.net.Net.backward.0");
  EXPECT_TRUE(nodes["Module.net.Net.parameters_grad"]["input_data"].contains("Module.net.Net.parameters_grad.weight"));
  EXPECT_EQ(nodes["Module.net.Other.parameters_grad"]["upnode"], "DefaultModel") << "no module of that name is called";
  EXPECT_EQ(node_row(run.file(".vis.db"), "Module.net.Net.parameters_grad").at("up_node"), "Module.net.Net.backward.0");
  only(run, run.run({"--compat", "1.2.1"}));
  EXPECT_FALSE(run.vis()["node"].contains("Module.net.Net.parameters_grad"));
}

TEST(GraphRepairs, R6ShowsGradientsOfModulesWithoutABackwardCall) {
  GraphRun run;
  GraphDump dump;
  const std::string weight = "Module.net.norm.BatchNorm2d.parameters_grad.0";
  const std::string other = "Module.head.Linear.parameters_grad.0";
  dump.call("Module.net.Net.forward.0", null)
      .call("Module.net.norm.BatchNorm2d.forward.0", "Module.net.Net.forward.0")
      .call("Module.head.Linear.forward.0", null)
      .call("Module.head.Linear.forward.1", null)
      .call("Module.net.Net.backward.0", null);
  for (const std::string& name : {weight, other}) dump.data[name] = {{"weight", Json::array({graph_tensor(3)})}};
  dump.write(run.folder() / "npu");
  EXPECT_EQ(only(run, run.run()), "");
  const Json nodes = run.vis()["node"];
  EXPECT_EQ(nodes[weight]["upnode"], "Module.net.Net.backward.0") << "that of the module around it";
  EXPECT_EQ(nodes[other]["upnode"], "Module.head.Linear.forward.1");
  EXPECT_EQ(node_row(run.file(".vis.db"), other).at("up_node"), "Module.head.Linear.forward.1");
}

TEST(GraphRepairs, R7ShowsNoChecksumsThatWereNotRecorded) {
  GraphRun run;
  small_model().write(run.folder() / "npu");
  const auto parameter = [&] {
    return run.vis()["node"]["Functional.relu.0.forward"]["input_data"]["Functional.relu.0.forward.input.0"];
  };
  only(run, run.run({"--format", "vis"}));
  EXPECT_FALSE(parameter().contains("md5"));
  only(run, run.run({"--format", "vis", "--compat", "1.2.1"}));
  EXPECT_EQ(parameter()["md5"], "00000000");
}

TEST(GraphRepairs, R8TakesNanInOutputsForTheWorst) {
  GraphRun run;
  small_model().write(run.folder() / "bench");
  GraphDump dump = small_model();
  const fs::path npu = run.folder() / "npu";
  dump.write(npu);
  // As Python writes it; the JSON library here has no such number.
  std::ifstream file(npu / "dump.json");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string output = R"("output":[{"type":"torch.Tensor","dtype":"torch.float32","shape":[2,2],"Max":1.0)";
  const std::size_t at = text.find(output, text.find("Functional.relu.0.forward"));
  ASSERT_NE(at, std::string::npos);
  text.replace(at + output.size() - 3, 3, "NaN");
  std::ofstream(npu / "dump.json") << text;
  const auto index = [&] { return run.vis()["NPU"]["node"]["Functional.relu.0.forward"]["data"]["precision_index"]; };
  only(run, run.run({"--format", "vis"}));
  EXPECT_EQ(index(), 1);
  only(run, run.run({"--format", "vis", "--compat", "1.2.1"}));
  EXPECT_EQ(index(), 0) << "the best colour";
}

// A writer whose JSON has neither NaN nor infinities writes texts.
TEST(GraphRepairs, R8TakesTextsOfInfinitiesInOutputsForTheWorst) {
  for (const char* text : {"nan", "NaN", "inf", "Infinity", "-Infinity", "+inf"}) {
    GraphRun run;
    small_model().write(run.folder() / "bench");
    GraphDump dump = small_model();
    dump.data["Functional.relu.0.forward"]["output"][0]["Max"] = text;
    dump.write(run.folder() / "npu");
    only(run, run.run({"--format", "vis"}));
    EXPECT_EQ(run.vis()["NPU"]["node"]["Functional.relu.0.forward"]["data"]["precision_index"], 1) << text;
    only(run, run.run());
    EXPECT_EQ(node_row(run.file(".vis.db"), "Functional.relu.0.forward").at("precision_index"), "1") << text;
    GraphRun alone;
    dump.write(alone.folder() / "npu");
    only(alone, alone.run({"-oc"}));
    EXPECT_EQ(alone.vis()["node"]["Functional.relu.0.forward"]["data"]["overflow_level"], "critical") << text;
  }
}

// msprobe takes the mean of a causal mask, which float32 cannot hold, for an infinity of the mask.
TEST(GraphRepairs, AMeanThatOverflowedOverFiniteValuesIsNoOverflow) {
  GraphDump dump = small_model();
  auto& mask = dump.data["Functional.relu.0.forward"]["output"][0];
  mask["Max"] = 0;
  mask["Min"] = -3.4e38;
  mask["Mean"] = "-Infinity";
  mask["shape"] = {64, 64};
  const auto level = [&](const std::vector<std::string>& more) {
    GraphRun run;
    dump.write(run.folder() / "npu");
    std::vector<std::string> arguments{"-oc", "--format", "vis"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    only(run, run.run(arguments));
    return run.vis()["node"]["Functional.relu.0.forward"]["data"].value("overflow_level", "");
  };
  EXPECT_EQ(level({}), "");
  EXPECT_EQ(level({"--compat", "1.2.1"}), "critical");
  mask["Mean"] = "Infinity";
  EXPECT_EQ(level({}), "critical");
}

// What relative errors say nothing of.
TEST(GraphRepairs, R8TakesOutputsWithoutAMeasureThatAreNotTheBenchmarksForTheWorst) {
  const Json number = small_model().data["Functional.relu.0.forward"]["output"][0];
  const auto with = [&](const std::vector<std::pair<const char*, Json>>& members) {
    Json output = number;
    for (const auto& [key, value] : members) output[key] = value;
    return output;
  };
  const auto all = [&](const Json& value) {
    return with({{"Max", value}, {"Min", value}, {"Mean", value}, {"Norm", value}});
  };
  const auto truth = [&](bool value) {
    return with({{"dtype", "torch.bool"}, {"Max", value}, {"Min", false}, {"Mean", null}, {"Norm", null}});
  };
  for (const auto& [npu, bench] : {std::pair(number, all("nan")),
                                   {with({{"Norm", "nan"}}), number},
                                   {number, with({{"Norm", "-inf"}})},
                                   {number, all(0.0)},
                                   {truth(true), truth(false)},
                                   {all(null), number},
                                   {number, all(null)}}) {
    GraphRun run;
    for (const auto& [side, output] : {std::pair("npu", npu), {"bench", bench}}) {
      GraphDump dump = small_model();
      dump.data["Functional.relu.0.forward"]["output"][0] = output;
      dump.write(run.folder() / side);
    }
    only(run, run.run({"--format", "vis"}));
    EXPECT_EQ(run.vis()["NPU"]["node"]["Functional.relu.0.forward"]["data"]["precision_index"], 1) << npu << bench;
    only(run, run.run());
    EXPECT_EQ(node_row(run.file(".vis.db"), "Functional.relu.0.forward").at("precision_index"), "1") << npu << bench;
  }
}

TEST(GraphRepairs, EmptyChecksumsAgreeWithNothing) {
  GraphRun run;
  for (const char* side : {"npu", "bench"}) {
    GraphDump dump = small_model();
    dump.data["Functional.relu.0.forward"]["output"][0]["md5"] = "";
    dump.write(run.folder() / side);
  }
  only(run, run.run({"--format", "vis"}));
  EXPECT_EQ(run.vis()["NPU"]["node"]["Functional.relu.0.forward"]["data"]["precision_index"], 0);
  only(run, run.run());
  EXPECT_EQ(node_row(run.file(".vis.db"), "Functional.relu.0.forward").at("precision_index"), "0.5");
}

TEST(GraphRepairs, R8TakesUninitialisedMemoryForGood) {
  GraphRun run;
  GraphDump dump;
  dump.call("Module.net.Net.forward.0", null).call("Torch.empty.0.forward", "Module.net.Net.forward.0", 1, 1);
  dump.write(run.folder() / "bench");
  dump.call("Torch.empty.0.forward", "Module.net.Net.forward.0", 1, 77).write(run.folder() / "npu");
  const auto index = [&] { return run.vis()["NPU"]["node"]["Torch.empty.0.forward"]["data"]["precision_index"]; };
  only(run, run.run({"--format", "vis"}));
  EXPECT_EQ(index(), 0);
  only(run, run.run({"--format", "vis", "--compat", "1.2.1"}));
  EXPECT_EQ(index(), 1);
}

TEST(GraphRepairs, R8GivesCollectionsTheirIndexAfterTheTensorsAreCompared) {
  // The fixture has no collection, so two calls of its model are put on the first level.
  GraphRun run;
  for (const char* side : {"npu", "bench"}) {
    fs::copy(graph_data(std::string("dumps/pt_tensor/") + side), run.folder() / side, fs::copy_options::recursive);
    fs::permissions(run.folder() / side, fs::perms::owner_all, fs::perm_options::add);
    std::ifstream file(run.folder() / side / "construct.json");
    Json construct = Json::parse(file);
    construct["Functional.gelu.0.forward"] = nullptr;
    construct["Tensor.mean.0.forward"] = nullptr;
    fs::remove(run.folder() / side / "construct.json");
    std::ofstream(run.folder() / side / "construct.json") << construct.dump();
  }
  const auto index = [&] { return run.vis()["NPU"]["node"]["Apis_Between_Modules.0"]["data"]["precision_index"]; };
  only(run, run.run({"--format", "vis"}));
  EXPECT_EQ(index(), 0.5);
  only(run, run.run({"--format", "vis", "--compat", "1.2.1"}));
  EXPECT_EQ(index(), 0);
}

TEST(GraphRepairs, R9RefusesTwoFrameworksWithoutAMapping) {
  GraphRun run;
  const std::vector<std::string> arguments{"-tp", graph_data("dumps/cross/npu"),
                                           "-gp", graph_data("dumps/cross/bench"),
                                           "-o",  (run.folder() / "out").string()};
  const Finished refused = run.run_with(arguments);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("Please specify -lm or --layer_mapping"));
}

TEST(GraphRepairs, R9ComparesTensorsOfMindSpore) {
  GraphRun run;
  const Finished finished = run.run_with({"-tp", graph_data("dumps/ms_tensor/npu"), "-gp",
                                          graph_data("dumps/ms_tensor/bench"), "-o", (run.folder() / "out").string()});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json output =
      run.vis()["NPU"]["node"]["Mint.matmul.0.forward"]["output_data"]["Mint.matmul.0.forward.output.0"];
  EXPECT_THAT(output["Cosine"].get<std::string>(), ::testing::StartsWith("1"));
}

TEST(GraphRepairs, R9WarnsOfAFrameworkThatIsNotTheRecordings) {
  GraphRun run;
  small_model().write(run.folder() / "npu");
  EXPECT_THAT(only(run, run.run({"--framework", "mindspore"})), HasSubstr("recording of pytorch, not of mindspore"));
  EXPECT_THAT(only(run, run.run({"--framework", "pytorch"})), Not(HasSubstr("recording of")));
}

TEST(GraphRepairs, R10TakesRanksByTheirNumbers) {
  GraphRun run;
  for (const char* rank : {"rank0", "rank1", "rank2", "rank10"}) small_model().write(run.folder() / "npu" / rank);
  const Finished finished = run.run({"--format", "db"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_LT(finished.out.find("rank2:"), finished.out.find("rank10:"));
  EXPECT_EQ(table_rows(run.file(".vis.db"), "tb_config").at(0).at("rank_list"), "[0, 1, 2, 10]");
}

TEST(GraphRepairs, R11CallsAShareBelow60PercentAnError) {
  GraphRun run;
  const Finished finished = run.run_with({"-tp", graph_data("dumps/pt_tensor/npu"), "-gp",
                                          graph_data("dumps/pt_tensor/bench"), "-o", (run.folder() / "out").string()});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const TableRow row = node_row(run.file(".vis.db"), "Functional.gelu.0.forward");
  EXPECT_EQ(row.at("precision_index"), "1");
  EXPECT_THAT(row.at("output_data"), HasSubstr("One Thousandth Err Ratio > 0.9 while the output < 0.6"));
}

TEST(GraphRepairs, R11ComparesTypesOfTwoFrameworksByWhatTheyAre) {
  GraphRun run;
  const Finished finished =
      run.run_with({"-tp", graph_data("dumps/cross/npu"), "-gp", graph_data("dumps/cross/bench"), "-lm",
                    graph_data("dumps/cross/layer_mapping.yaml"), "-o", (run.folder() / "out").string()});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const TableRow row = node_row(run.file(".vis.db"), "MintFunctional.embedding.0.forward");
  EXPECT_THAT(row.at("output_data"), Not(HasSubstr("dtype of NPU")));
  EXPECT_EQ(row.at("precision_index"), "0");
}

TEST(GraphRepairs, R11TakesUninitialisedMemoryForGoodByChecksumsToo) {
  GraphRun run;
  GraphDump dump;
  dump.call("Module.net.Net.forward.0", null).call("Torch.empty.0.forward", "Module.net.Net.forward.0");
  for (const char* side : {"npu", "bench"}) {
    for (auto& [name, entry] : dump.data.items()) {
      entry["input_args"][0]["md5"] = "aaaaaaaa";
      entry["output"][0]["md5"] = side;
    }
    dump.write(run.folder() / side);
  }
  only(run, run.run());
  EXPECT_EQ(node_row(run.file(".vis.db"), "Torch.empty.0.forward").at("precision_index"), "0");
  EXPECT_EQ(node_row(run.file(".vis.db"), "Module.net.Net.forward.0").at("precision_index"), "1");
}

TEST(GraphRepairs, R12SeesJumpsOfTheNormOfMindSporeTensors) {
  GraphRun run;
  GraphDump dump;
  dump.header["framework"] = "mindspore";
  dump.call("Cell.net.Net.forward.0", null, 1, 101);
  for (const char* side : {"input_args", "output"}) {
    dump.data["Cell.net.Net.forward.0"][side][0]["type"] = "mindspore.Tensor";
  }
  dump.write(run.folder() / "npu");
  only(run, run.run({"-oc"}));
  EXPECT_EQ(run.vis()["node"]["Cell.net.Net.forward.0"]["data"]["overflow_level"], "high");
}

TEST(GraphRepairs, RecordingsWithoutCallsAreNotCompared) {
  GraphRun run;
  GraphDump dump = small_model();
  dump.data = Json::object();
  for (const char* side : {"npu", "bench"}) dump.write(run.folder() / side);
  const Finished finished = run.run();
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("No APIs found in the dump.json"));
}

TEST(GraphRepairs, AnOutputThatTheTargetLacksIsAWarning) {
  GraphRun run;
  small_model().write(run.folder() / "bench");
  GraphDump dump = small_model();
  dump.data["Functional.relu.0.forward"]["output"] = Json::array();
  dump.write(run.folder() / "npu");
  only(run, run.run());
  EXPECT_EQ(node_row(run.file(".vis.db"), "Functional.relu.0.forward").at("precision_index"), "0.5");
}

TEST(GraphRepairs, CallsWithoutALineInConstructAreCountedInOneWarning) {
  GraphRun run;
  GraphDump dump = small_model();
  for (const char* name : {"Torch.exp.0.forward", "Torch.sin.0.forward"}) {
    dump.data[name] = dump.data["Functional.relu.0.forward"];
  }
  dump.write(run.folder() / "npu");
  const std::string warnings = only(run, run.run());
  EXPECT_THAT(warnings, HasSubstr("no line of 2 calls of dump.json, which the graph lacks: first Torch.exp.0.forward"));
  EXPECT_EQ(warnings.find("no line of"), warnings.rfind("no line of"));
}

TEST(GraphRepairs, ResultsAreNotWrittenIntoTheRecording) {
  const TemporaryDirectory scratch;
  for (const char* rank : {"rank0", "rank1"}) small_model().write(scratch.path() / "step0" / rank);
  const std::string recording = (scratch.path() / "step0").string();
  for (const std::string& out : {recording, recording + "/rank0", recording + "/out", recording + "/../step0/"}) {
    const Finished run = run_tool("graph", {"-tp", recording, "-gp", recording, "-o", out}, scratch.path());
    EXPECT_EQ(run.exit_code, 2) << out;
    EXPECT_THAT(run.err, HasSubstr("cannot be written into the recording")) << out;
  }
  // Nobody takes what lies below the files of a rank for a recording.
  for (const std::string& out : {recording + "/rank0", recording + "/rank0/out"}) {
    const Finished run =
        run_tool("graph", {"-tp", recording + "/rank0", "-gp", recording + "/rank1", "-o", out}, scratch.path());
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
  EXPECT_EQ(run_tool("graph", {"-tp", recording, "-o", recording + "-out"}, scratch.path()).exit_code, 0);
}

// Two modules in each other, with a call in the inner one.
GraphDump nested_model(double outer, double inner, double call) {
  GraphDump dump;
  dump.call("Module.net.Net.forward.0", null, 1, outer)
      .call("Module.net.mlp.Mlp.forward.0", "Module.net.Net.forward.0", 1, inner)
      .call("Functional.relu.0.forward", "Module.net.mlp.Mlp.forward.0", 1, call);
  return dump;
}

TEST(GraphConsole, NamesTheInnermostModuleThatIsWorseThanAllCalls) {
  const auto told = [](const GraphDump& npu, const GraphDump& bench) {
    GraphRun run;
    npu.write(run.folder() / "npu");
    bench.write(run.folder() / "bench");
    const Finished finished = run.run({"--format", "vis"});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return finished.out;
  };
  const GraphDump right = nested_model(1, 1, 1);
  EXPECT_THAT(told(nested_model(3, 3, 1), right), HasSubstr(", worst Module.net.mlp.Mlp.forward.0 (1)\n"));
  EXPECT_THAT(told(nested_model(3, 1, 1), right), HasSubstr(", worst Module.net.Net.forward.0 (1)\n"));
  EXPECT_THAT(told(nested_model(3, 3, 3), right), HasSubstr(", worst Functional.relu.0.forward (1)\n"));
  EXPECT_THAT(told(nested_model(1.5, 1.5, 1.25), right),
              HasSubstr(", worst Functional.relu.0.forward (0.25), of modules Module.net.mlp.Mlp.forward.0 (0.5)\n"));
  EXPECT_THAT(told(right, right), Not(HasSubstr("worst")));
}

// The page has the nodes and verdicts of .vis.db, in which other shapes match.
TEST(GraphConsole, SaysWhatThePageShows) {
  GraphRun run;
  nested_model(1, 1, 1).call("Torch.exp.0.forward", "Module.net.Net.forward.0").write(run.folder() / "bench");
  GraphDump dump = nested_model(3, 1, 1.2).call("Torch.exp.0.forward", "Module.net.Net.forward.0");
  dump.data["Torch.exp.0.forward"]["output"] = Json::array({graph_tensor(1, {4})});
  dump.write(run.folder() / "npu");
  for (const char* format : {"both", "html"}) {
    const Finished finished = run.run({"--format", format});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_THAT(finished.out,
                HasSubstr("5 nodes, 5 matched with 5 of the benchmark, worst Torch.exp.0.forward (error)"));
  }
}

TEST(GraphConsole, AMappingThatIsNotThereIsRefusedEvenWhereItHasNoEffect) {
  GraphRun run;
  small_model().write(run.folder() / "npu");
  const std::string nowhere = (run.folder() / "nowhere.yaml").string();
  const std::string there = (run.folder() / "there.yaml").string();
  std::ofstream(there) << "TopLayer: {a: b}\n";
  const auto try_both = [&](const std::vector<std::string>& more, const std::string& reason) {
    std::vector<std::string> options{"-lm", nowhere};
    options.insert(options.end(), more.begin(), more.end());
    const Finished refused = run.run(options);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("nowhere.yaml"));
    options[1] = there;
    EXPECT_THAT(only(run, run.run(options)), HasSubstr("there.yaml has no effect: " + reason));
  };
  try_both({}, "one recording alone is not compared.");
  small_model().write(run.folder() / "bench");
  try_both({"-f"}, "with --fuzzy_match modules match by name alone.");
}

}  // namespace
}  // namespace msrun::testing
