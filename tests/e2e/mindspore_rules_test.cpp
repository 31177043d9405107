// acc_check of MindSpore dumps: rules of single entries and directions.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/npy_file.h"
#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

json tensor(const std::string& file = "") {
  json described{{"type", "mindspore.Tensor"}, {"dtype", "Float32"}, {"shape", {2, 3}}, {"Max", 1.0}, {"Min", -1.0}};
  if (!file.empty()) described["data_name"] = file;
  return described;
}

json forward(const std::vector<json>& args, const std::vector<json>& outputs = {}) {
  return {{"input_args", args}, {"input_kwargs", json::object()}, {"output", outputs}};
}

json backward(const std::vector<json>& gradients, const std::vector<json>& results) {
  return {{"input", gradients}, {"output", results}};
}

class MindSporeRules : public Untouched {
 protected:
  // Rows of the result file, cells joined by '|'.
  std::vector<std::string> results(const json& data, const std::string& task = "statistics", int exit_code = 0) {
    const json dump{{"task", task},
                    {"level", "L1"},
                    {"framework", "mindspore"},
                    {"dump_data_dir", "./dump_tensor_data"},
                    {"data", data}};
    const Finished run =
        msrun({"acc_check", "-api_info", write_dump(dump.dump()), "-o", scratch_ / "out"}, scratch_.path());
    EXPECT_EQ(run.exit_code, exit_code) << run.err;
    std::vector<std::string> lines;
    const Rows rows = read_csv(only_file(scratch_ / "out", "accuracy_checking_result_"));
    for (std::size_t i = 1; i < rows.size(); ++i) {
      std::string& line = lines.emplace_back();
      for (std::size_t cell = 0; cell < rows[i].size(); ++cell) line += (cell > 0 ? "|" : "") + rows[i][cell];
    }
    return lines;
  }
};

TEST_F(MindSporeRules, ValuesAreTakenAsTheyStand) {
  const auto of = [](const char* type, const json& value) {
    return forward({tensor(), {{"type", type}, {"value", value}}});
  };
  EXPECT_THAT(results({{"Mint.add.0.forward", of("float", false)},
                       {"Mint.add.1.forward", of("int", 1.5)},
                       {"Mint.add.2.forward", of("bool", 2)},
                       {"Mint.add.3.forward", of("int", false)}}),
              ElementsAre("Mint.add.0|pass||", "Mint.add.1|pass||", "Mint.add.2|pass||", "Mint.add.3|pass||"));
}

TEST_F(MindSporeRules, TheTypeOfATensorIsAText) {
  EXPECT_THAT(results({{"Tensor.type.0.forward", forward({tensor()})}}), ElementsAre("Tensor.type.0|pass||"));
}

TEST_F(MindSporeRules, ACallThatGivesNothingHasNoRow) {
  json scalar = tensor();
  scalar["shape"] = json::array();
  EXPECT_THAT(results({{"Tensor.size.0.forward", forward({scalar})}, {"Tensor.size.1.forward", forward({tensor()})}}),
              ElementsAre("Tensor.size.1|pass||"));
}

TEST_F(MindSporeRules, MessagesOfRefusedTypesAreTorchs) {
  json integers = tensor();
  integers["dtype"] = "Int64";
  json booleans = tensor();
  booleans["dtype"] = "Bool";
  const json data{{"Mint.mean.0.forward", forward({integers})}, {"Mint.sub.0.forward", forward({booleans, booleans})}};
  constexpr int nothing_checked = 1;
  EXPECT_THAT(
      results(data, "statistics", nothing_checked),
      ElementsAre("Mint.mean.0|SKIP||mean(): could not infer output dtype. Input dtype must be either a floating point "
                  "or complex dtype. Got: Long",
                  "Mint.sub.0|SKIP||Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` "
                  "or `logical_xor()` operator instead."));
}

// Each direction is SKIP of its own.
TEST_F(MindSporeRules, GradientsAreComparedWhereTheFileOfAnOutputIsMissing) {
  const fs::path folder = scratch_ / "dump_tensor_data";
  fs::create_directories(folder);
  write_npy(folder / "one.npy", Tensor::full(DType::float32, Dims{2, 3}, 1));
  const std::vector<json> ones{tensor("one.npy"), tensor("one.npy")};
  const json sum = forward(ones, {tensor("missing.npy")});
  const json wrong = backward({tensor("one.npy")}, {tensor("one.npy"), tensor("two.npy")});
  write_npy(folder / "two.npy", Tensor::full(DType::float32, Dims{2, 3}, 2));
  EXPECT_THAT(results({{"Mint.add.0.forward", sum},
                       {"Mint.add.0.backward", backward({tensor("one.npy")}, ones)},
                       {"Mint.add.1.forward", sum},
                       {"Mint.add.1.backward", wrong},
                       {"Mint.add.2.forward", forward(ones)}},
                      "tensor"),
              ElementsAre("Mint.add.0|SKIP|pass|[msprobe] 非法文件路径： ",
                          "Mint.add.1|SKIP|error|max absolute difference is greater than threshold: 0.0001 [msprobe] "
                          "非法文件路径： "));
}

}  // namespace
}  // namespace msrun::testing
