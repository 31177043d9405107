// The first divergence where a call was called otherwise: arguments that are no tensors, in statistics, checksums and
// tensors; and gradients of parameters, of which no inputs are recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/dump_compare_support.h"

namespace msrun::testing {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

struct Found {
  Json json;
  std::string out;
};

Found find_divergence(const Json& target, const Json& golden, const Json& more = Json::object()) {
  ComparedDumps dumps;
  dumps.write("target", target, more);
  dumps.write("golden", golden, more);
  const Finished run = dumps.run({"--first-divergence"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return {Json::parse(read_file(only_file(dumps.folder() / "out", "first_divergence_"))), run.out};
}

Json tensor(double size, const std::string& dtype = "torch.float32") {
  return recorded_tensor(size, -0.7 * size, 0.1 * size, 3 * size, {8, 24}, dtype);
}

Json number(const Json& value) {
  return {{"type", value.is_number_integer() ? "int" : value.is_string() ? "str" : "float"}, {"value", value}};
}

// Two layers, of which the second reads what the first makes. argument: of the first; noise: of its input; shift: what
// its output is off by.
Json model(const std::string& call, const Json& argument, double noise, double shift,
           const std::string& dtype = "torch.float32") {
  Json data;
  const Json middle = tensor(2 * (1 + noise) * (1 + shift), dtype);
  data[call] = recorded_call({tensor(1 + noise, dtype), number(argument)}, {middle});
  data["Functional.relu.0.forward"] = recorded_call({middle}, {middle});
  return data;
}

TEST(FirstDivergence, ACallWithAnotherArgumentIsNamedHoweverLittleItDiffers) {
  const auto found = [](const std::string& call, const Json& mine, const Json& golden, const std::string& dtype) {
    const Found result = find_divergence(model(call, mine, 0, 1e-4, dtype), model(call, golden, 0, 0, dtype));
    EXPECT_EQ(result.json["verdict"], "found") << call;
    EXPECT_EQ(result.json["first"]["call"], call);
    EXPECT_THAT(result.out, HasSubstr("output: differs: input.1: "));
  };
  for (const char* dtype : {"torch.float32", "torch.bfloat16", "torch.float16"}) {
    found("Functional.layer_norm.0.forward", 0.001, 1e-12, dtype);
    found("Functional.dropout.0.forward", 0.2, 0.1, dtype);
    found("Functional.softmax.0.forward", 0, -1, dtype);
    found("Functional.leaky_relu.0.forward", 0.011, 0.01, dtype);
    found("Functional.gelu.0.forward", "tanh", "none", dtype);
  }
}

TEST(FirstDivergence, ADifferenceBetweenTheLimitsOfOutputsAndOfInputsIsSeen) {
  const std::string call = "Functional.layer_norm.0.forward";
  const Found result = find_divergence(model(call, 1e-5, 0, 4.7e-4), model(call, 1e-5, 0, 0));
  EXPECT_EQ(result.json["first"]["call"], call);
  // So may other devices round.
  EXPECT_EQ(find_divergence(model(call, 1e-5, 0, 1e-6), model(call, 1e-5, 0, 0)).json["verdict"], "none");
  EXPECT_EQ(find_divergence(model(call, 1e-5, 1e-6, 4e-6), model(call, 1e-5, 0, 0)).json["verdict"], "none");
  const std::string half = "torch.bfloat16";
  EXPECT_EQ(find_divergence(model(call, 1e-5, 0.004, 0.01, half), model(call, 1e-5, 0, 0, half)).json["verdict"],
            "none");
}

TEST(FirstDivergence, AnArgumentThatMattersIsToldFromWhatTheInputsBring) {
  const std::string call = "Functional.layer_norm.0.forward";
  EXPECT_EQ(find_divergence(model(call, 0.001, 1e-6, 4.7e-4), model(call, 1e-12, 0, 0)).json["first"]["call"], call);
  const Found same = find_divergence(model(call, 0.001, 1e-6, 0), model(call, 1e-12, 0, 0));
  EXPECT_EQ(same.json["verdict"], "none");
  EXPECT_THAT(same.out, HasSubstr("Arguments that differ although the outputs agree: 1, the first of " + call +
                                  ", input.1: 0.001, 1e-12."));
}

TEST(FirstDivergence, DevicesAndNumbersThatWereComputedAreNoOtherArguments) {
  const std::string call = "Tensor.mul.0.forward";
  const auto verdict = [&](const Json& mine, const Json& golden, const std::string& dtype) {
    return find_divergence(model(call, mine, 0, 1e-7, dtype), model(call, golden, 0, 0, dtype)).json["verdict"];
  };
  EXPECT_EQ(verdict("npu:0", "cuda:0", "torch.float32"), "none");
  EXPECT_EQ(verdict("torch.float32", "torch.bfloat16", "torch.float32"), "none");
  EXPECT_EQ(verdict("<Reducer object at 0x7f01>", "<Reducer object at 0x7f02>", "torch.float32"), "none");
  EXPECT_EQ(verdict(0.98765432101, 0.98765439, "torch.float32"), "none");
  EXPECT_EQ(verdict(137.0, 138.0, "torch.bfloat16"), "none");
  EXPECT_EQ(verdict(0.5, 0.25, "torch.bfloat16"), "found");
  EXPECT_EQ(verdict(0.98765432101, 0.9, "torch.float32"), "found");
}

TEST(FirstDivergence, IntegersThatDifferByOneAreFound) {
  const auto dump = [](std::int64_t max) {
    Json ids = recorded_tensor(1, 0, 0, 0, {4}, "torch.int64");
    ids["Max"] = max;
    return Json{{"Tensor.clone.0.forward", recorded_call({tensor(1)}, {ids})}};
  };
  const Json found = find_divergence(dump((std::int64_t{1} << 53) + 1), dump(std::int64_t{1} << 53)).json;
  EXPECT_EQ(found["first"]["call"], "Tensor.clone.0.forward") << found.dump();
}

TEST(FirstDivergence, ChecksumsThatAreNumbersAreCompared) {
  const auto dump = [](double loss) {
    Json value = {{"type", "torch.Tensor"}, {"dtype", "torch.float32"}, {"shape", Json::array()}, {"md5", loss}};
    Json logits = {{"type", "torch.Tensor"}, {"dtype", "torch.float32"}, {"shape", {4, 8}}, {"md5", "0x07"}};
    return Json{{"Functional.cross_entropy.0.forward", recorded_call({logits}, {value})}};
  };
  EXPECT_EQ(find_divergence(dump(2.99), dump(2.77)).json["first"]["call"], "Functional.cross_entropy.0.forward");
  EXPECT_EQ(find_divergence(dump(2.77), dump(2.77)).json["verdict"], "none");
}

// A module in bfloat16 whose parameter has a gradient in float32. input: what the gradient that it passes on is off by.
Json layers(const std::vector<double>& gradients, bool backward = false, double input = 0) {
  Json data;
  const std::string dtype = "torch.bfloat16";
  for (std::size_t layer = 0; layer < gradients.size(); ++layer) {
    const std::string name = "Module.layers." + std::to_string(layer) + ".Linear.";
    data[name + "forward.0"] = recorded_call({tensor(1, dtype)}, {tensor(2, dtype)});
  }
  for (std::size_t layer = gradients.size(); layer-- > 0;) {
    const std::string name = "Module.layers." + std::to_string(layer) + ".Linear.";
    if (backward) {
      const Json gradient = tensor(0.1 * (1 + input), dtype);
      data[name + "backward.0"] = {{"input", Json::array({gradient})}, {"output", Json::array({gradient})}};
    }
    data[name + "parameters_grad.0"] = {{"weight", Json::array({tensor(0.1 * (1 + gradients[layer]))})}};
  }
  return data;
}

TEST(FirstDivergence, WideGradientsOfParametersInHalfPrecisionMayBeOffByItsRounding) {
  EXPECT_EQ(find_divergence(layers({0.003, 0.003}), layers({0, 0})).json["verdict"], "none");
  const Json wrong = find_divergence(layers({0.8, 0.009}), layers({0, 0})).json;
  EXPECT_EQ(wrong["first"]["call"], "Module.layers.0.Linear.parameters_grad.0") << wrong.dump();
}

TEST(FirstDivergence, GradientsOfParametersAreNotBlamedForWhatTheirModuleWasHanded) {
  const auto of = [](double input, double weight) {
    return find_divergence(layers({weight}, true, input), layers({0}, true)).json;
  };
  EXPECT_EQ(of(0, 0.8)["first"]["call"], "Module.layers.0.Linear.parameters_grad.0");
  EXPECT_EQ(of(0.7, 0.8)["verdict"], "none");
}

}  // namespace
}  // namespace msrun::testing
