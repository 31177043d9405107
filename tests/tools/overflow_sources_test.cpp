// Where a value that is not finite comes from when no recorded call has made it: weights, data, what a module does
// outside of its recorded calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/tools/dump_compare_support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

Json of(const std::string& word) {
  Json tensor = recorded_tensor(1, 1, 1, 2);
  if (word.empty()) return tensor;
  for (const char* key : {"Max", "Min", "Mean", "Norm"}) tensor[key] = word;
  return tensor;
}

const Json sound = of("");
const Json nan = of("nan");
const Json infinite = of("inf");

Json trained(Json tensor) {
  tensor["requires_grad"] = true;
  return tensor;
}

Json module(const std::vector<Json>& inputs, const std::vector<Json>& outputs, const Json& parameters) {
  Json call = recorded_call(inputs, outputs);
  call["parameters"] = parameters;
  return call;
}

Json backward(const std::vector<Json>& inputs, const std::vector<Json>& outputs) {
  return {{"input", inputs}, {"output", outputs}};
}

struct Said {
  std::string line;
  Json document;
};

// What the command says of a step in which one process ran these calls, with the modules around them; null: the
// recording has no construct.json.
Said said_of(const Json& data, const Json& construct = nullptr) {
  const TemporaryDirectory scratch;
  const fs::path folder = scratch.path() / "dump" / "step0" / "proc17";
  fs::create_directories(folder);
  const Json dump{{"task", "statistics"}, {"level", "mix"}, {"framework", "pytorch"}, {"data", data}};
  std::ofstream(folder / "dump.json") << dump.dump();
  if (!construct.is_null()) std::ofstream(folder / "construct.json") << construct.dump();
  const fs::path out = scratch.path() / "out";
  const Finished run = run_tool("overflow_check", {"-i", scratch / "dump", "-o", out}, scratch.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const std::size_t end = run.out.find('\n');
  const bool found = fs::exists(out);
  return {run.out.substr(0, end), found ? Json::parse(read_file(only_file(out, "anomaly_analyze_"))) : Json()};
}

// The path that other commands take, of one dump.json, is taken as well.
TEST(OverflowInputs, ADumpStandsForItsFolder) {
  const TemporaryDirectory scratch;
  const Json data{{"Torch.exp.0.forward", recorded_call({sound}, {infinite})}};
  std::ofstream(scratch / "dump.json") << Json{{"task", "statistics"}, {"framework", "pytorch"}, {"data", data}}.dump();
  std::ofstream(scratch / "stack.json") << "{}";
  const auto said = [&](const std::string& input) {
    return run_tool("overflow_check", {"-i", input, "-o", scratch / "out"}, scratch.path());
  };
  EXPECT_THAT(said(scratch / "dump.json").out, HasSubstr("First NaN or infinity: rank 0, Torch.exp.0.forward"));
  EXPECT_THAT(said(scratch / "stack.json").err, HasSubstr("is a file: -i takes the folder"));
  EXPECT_THAT(said(scratch / "none").err, HasSubstr("does not exist"));
}

// A layer of two linear modules, of which the second has a value in its weight, and a loss.
struct Layer {
  explicit Layer(const Json& weight, const Json& result) {
    data["Functional.linear.0.forward"] = recorded_call({sound, trained(sound)}, {sound});
    data["Module.layer.up.Linear.forward.0"] = module({sound}, {sound}, {{"weight", trained(sound)}});
    data["Functional.linear.1.forward"] = recorded_call({sound, trained(weight)}, {result});
    data["Module.layer.down.Linear.forward.0"] =
        module({sound}, {result}, {{"bias", trained(sound)}, {"weight", trained(weight)}});
    data["Module.layer.Layer.forward.0"] = module({sound}, {result}, Json::object());
    data["Functional.layer_norm.0.forward"] = recorded_call({result, sound}, {nan});
    construct = {{"Functional.linear.0.forward", "Module.layer.up.Linear.forward.0"},
                 {"Module.layer.up.Linear.forward.0", "Module.layer.Layer.forward.0"},
                 {"Functional.linear.1.forward", "Module.layer.down.Linear.forward.0"},
                 {"Module.layer.down.Linear.forward.0", "Module.layer.Layer.forward.0"},
                 {"Module.layer.Layer.forward.0", nullptr},
                 {"Functional.layer_norm.0.forward", nullptr}};
  }
  Json data;
  Json construct;
};

TEST(OverflowSources, TheModuleIsNamedWhoseWeightHoldsAnInfinityOrNan) {
  for (const auto& [weight, result] :
       {std::pair(nan, nan), {infinite, nan}, {infinite, infinite}, {of("-inf"), nan}, {of("-inf"), infinite}}) {
    const Layer layer(weight, result);
    for (const Json& construct : {layer.construct, Json()}) {
      const Said said = said_of(layer.data, construct);
      EXPECT_EQ(said.line,
                "First NaN or infinity: rank 0, Module.layer.down.Linear.forward.0 (already in its parameter weight, "
                "read by Functional.linear.1.forward)");
      EXPECT_EQ(said.document["first"]["op_name"], "Module.layer.down.Linear.forward.0");
      const Json& entry = said.document["rank_0"][0];
      EXPECT_EQ(entry["op_name"], "Module.layer.down.Linear.forward.0");
      EXPECT_EQ(entry["source"], "parameters");
      EXPECT_EQ(entry["holder"], "weight");
      EXPECT_EQ(entry["seen_by"], "Functional.linear.1.forward");
    }
  }
}

TEST(OverflowSources, WithoutModulesTheCallIsNamedThatReadsTheWeight) {
  for (const auto& [weight, result] : {std::pair(nan, nan), {infinite, infinite}, {of("-inf"), infinite}}) {
    Json data;
    const Layer layer(weight, result);
    for (const auto& [name, call] : layer.data.items()) {
      if (!name.starts_with("Module")) data[name] = call;
    }
    EXPECT_EQ(said_of(data).line, "First NaN or infinity: rank 0, Functional.linear.1.forward (already in its input)");
  }
}

TEST(OverflowSources, AMaskThatWasMadeBeforeTheRecordingHidesNoLaterNan) {
  const Json data{{"Tensor.__add__.0.forward", recorded_call({sound, of("-inf")}, {of("-inf")})},
                  {"Torch.softmax.0.forward", recorded_call({of("-inf")}, {sound})},
                  {"Torch.log.0.forward", recorded_call({sound}, {nan})}};
  EXPECT_EQ(said_of(data).line, "First NaN or infinity: rank 0, Torch.log.0.forward");
}

// A row of an embedding that nobody looks up, a tensor of which the call takes the shape alone.
TEST(OverflowSources, AWeightThatSpoilsNoResultIsNotTheFirst) {
  Json data{{"Functional.embedding.0.forward", recorded_call({sound, trained(nan)}, {sound})},
            {"Module.tok.Embedding.forward.0", module({sound}, {sound}, {{"weight", trained(nan)}})},
            {"Torch.log.0.forward", recorded_call({sound}, {nan})}};
  EXPECT_EQ(said_of(data).line, "First NaN or infinity: rank 0, Torch.log.0.forward");
  data.erase("Torch.log.0.forward");
  EXPECT_EQ(said_of(data).line, "First NaN or infinity: rank 0, Functional.embedding.0.forward (already in its input)");
}

// A buffer, the weight of a module that is not called, or what a call makes that is not recorded.
TEST(OverflowSources, TheModuleIsNamedInWhichAValueAppearsThatNoCallHasMade) {
  const Json data{{"Functional.batch_norm.0.forward", recorded_call({sound, nan}, {nan})},
                  {"Module.bn.BatchNorm2d.forward.0", module({sound}, {nan}, {{"weight", trained(sound)}})},
                  {"Module.net.Net.forward.0", module({sound}, {nan}, Json::object())}};
  const Json construct{{"Functional.batch_norm.0.forward", "Module.bn.BatchNorm2d.forward.0"},
                       {"Module.bn.BatchNorm2d.forward.0", "Module.net.Net.forward.0"},
                       {"Module.net.Net.forward.0", nullptr}};
  const Said said = said_of(data, construct);
  EXPECT_EQ(said.line,
            "First NaN or infinity: rank 0, Module.bn.BatchNorm2d.forward.0 (in it, outside of the recorded calls; "
            "first seen by Functional.batch_norm.0.forward in input.1)");
  EXPECT_EQ(said.document["rank_0"][0]["source"], "inside");
}

TEST(OverflowSources, DataThatHoldNanAreNoModulesFault) {
  const Json data{{"Functional.linear.0.forward", recorded_call({nan, trained(sound)}, {nan})},
                  {"Module.up.Linear.forward.0", module({nan}, {nan}, {{"weight", trained(sound)}})},
                  {"Functional.relu.0.forward", recorded_call({nan}, {nan})},
                  {"Module.other.Other.forward.0", module({sound}, {nan}, Json::object())}};
  const Json construct{{"Functional.linear.0.forward", "Module.up.Linear.forward.0"},
                       {"Module.up.Linear.forward.0", nullptr},
                       {"Functional.relu.0.forward", "Module.other.Other.forward.0"},
                       {"Module.other.Other.forward.0", nullptr}};
  EXPECT_EQ(said_of(data, construct).line,
            "First NaN or infinity: rank 0, Functional.linear.0.forward (already in its input)");
}

TEST(OverflowSources, ABackwardReadsTheTensorsOfItsForward) {
  const Json data{{"Tensor.exp.0.forward", recorded_call({sound}, {infinite})},
                  {"Torch.clamp.0.forward", recorded_call({infinite}, {sound})},
                  {"Torch.clamp.0.backward", backward({sound}, {sound})},
                  {"Tensor.exp.0.backward", backward({sound}, {nan})}};
  EXPECT_EQ(said_of(data).line, "First NaN or infinity: rank 0, Tensor.exp.0.forward");
  // The weight alone is known to hold one, and the loss hides it until the gradient shows it.
  const Json hidden{{"Torch.where.0.forward", recorded_call({sound, nan}, {sound})},
                    {"Torch.where.0.backward", backward({sound}, {nan})}};
  EXPECT_EQ(said_of(hidden).line, "First NaN or infinity: rank 0, Torch.where.0.backward (already in its input)");
}

TEST(OverflowSources, AGradientThatACallSpoilsIsItsFault) {
  const Json data{{"Tensor.sqrt.0.forward", recorded_call({sound}, {sound})},
                  {"Tensor.sqrt.0.backward", backward({sound}, {infinite})},
                  {"Module.up.Linear.parameters_grad.0", {{"weight", {infinite}}}}};
  EXPECT_EQ(said_of(data).line, "First NaN or infinity: rank 0, Tensor.sqrt.0.backward");
}

// Whether a recording lists them behind the backward or, as older ones, with the forward of their module.
TEST(OverflowSources, GradientsOfParametersAreResultsOfTheBackward) {
  const Json forward = module({sound}, {sound}, {{"weight", trained(sound)}});
  const Json gradients{{"weight", {nan}}};
  for (const bool early : {false, true}) {
    Json data{{"Module.up.Linear.forward.0", forward}};
    if (early) data["Module.up.Linear.parameters_grad"] = gradients;
    data["Functional.mse_loss.0.forward"] = recorded_call({sound}, {sound});
    data["Functional.mse_loss.0.backward"] = backward({sound}, {nan});
    data["Module.up.Linear.backward.0"] = backward({nan}, {nan});
    if (!early) data["Module.up.Linear.parameters_grad"] = gradients;
    EXPECT_EQ(said_of(data).line, "First NaN or infinity: rank 0, Functional.mse_loss.0.backward") << early;
    // Where nothing else shows it, they are named, and not the communication that they go into.
    data["Functional.mse_loss.0.backward"] = backward({sound}, {sound});
    data["Module.up.Linear.backward.0"] = backward({sound}, {sound});
    data["Distributed.all_reduce.0.forward"] = recorded_call({nan}, {nan});
    EXPECT_EQ(said_of(data).line, "First NaN or infinity: rank 0, Module.up.Linear.parameters_grad") << early;
  }
}

TEST(OverflowSources, ANumberThatIsNanIsWhatACallWasGiven) {
  const Json number{{"type", "float"}, {"value", "nan"}};
  const Json data{{"Tensor.masked_fill.0.forward", recorded_call({sound, number}, {nan})},
                  {"Torch.log.0.forward", recorded_call({sound}, {nan})}};
  EXPECT_EQ(said_of(data).line, "First NaN or infinity: rank 0, Torch.log.0.forward");
}

// -i takes the folder that the other commands take as -api_info: of a run, too, that holds the recording alone.
TEST(OverflowSources, TheFolderAroundARecordingIsTaken) {
  const TemporaryDirectory scratch;
  const fs::path folder = scratch.path() / "run" / "dump" / "step0" / "proc17";
  fs::create_directories(folder);
  const Json dump{{"task", "statistics"},
                  {"framework", "pytorch"},
                  {"data", {{"Torch.log.0.forward", recorded_call({sound}, {nan})}}}};
  std::ofstream(folder / "dump.json") << dump.dump();
  std::ofstream(scratch.path() / "run" / "config.json") << "{}";
  const Finished run = run_tool("overflow_check", {"-i", scratch / "run", "-o", scratch / "out"}, scratch.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("First NaN or infinity: rank 0, Torch.log.0.forward"));
}

TEST(OverflowSources, AFolderWithoutARecordingIsNamedAsGiven) {
  const TemporaryDirectory scratch;
  fs::create_directories(scratch.path() / "run" / "dump");
  fs::create_directory_symlink(".", scratch.path() / "run" / "dump" / "again");
  const Finished run = run_tool("overflow_check", {"-i", scratch / "run", "-o", scratch / "out"}, scratch.path());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err,
              HasSubstr("neither folders of ranks nor a dump.json in " + (scratch.path() / "run").string() + "."));
}

TEST(OverflowSources, StepsAreSearchedInTheirOrder) {
  const TemporaryDirectory scratch;
  for (const auto& [step, result] : {std::pair("step2", sound), {"step10", nan}, {"step11", infinite}}) {
    const fs::path folder = scratch.path() / "dump" / step / "rank0";
    fs::create_directories(folder);
    const Json data{{"Torch.log.0.forward", recorded_call({sound}, {result})}};
    std::ofstream(folder / "dump.json") << Json{
        {"task", "statistics"},
        {"framework", "pytorch"},
        {"data", data}}.dump();
  }
  const Finished run = run_tool("overflow_check", {"-i", scratch / "dump", "-o", scratch / "out"}, scratch.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("step2:\nCannot find any anomaly node"));
  EXPECT_THAT(run.out, HasSubstr("step10:\nFirst NaN or infinity: rank 0, Torch.log.0.forward"));
  EXPECT_THAT(run.out, Not(HasSubstr("step11")));
}

}  // namespace
}  // namespace msrun::testing
