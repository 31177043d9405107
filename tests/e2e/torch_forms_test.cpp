// Recorded arguments and results that torch itself takes or gives in a form of its own.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/test_paths.h"
#include "tests/support/torch_python.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using nlohmann::json;

json tensor(const std::vector<int>& shape, const std::string& dtype = "torch.float32") {
  return {{"type", "torch.Tensor"},
          {"dtype", dtype},
          {"shape", shape},
          {"Max", 1.5},
          {"Min", -1.0},
          {"Mean", 0.1},
          {"Norm", 2.0},
          {"requires_grad", false}};
}

json call(const std::vector<json>& args, const json& kwargs, const json& output) {
  return {{"input_args", args}, {"input_kwargs", kwargs}, {"output", json::array({output})}};
}

class TorchForms : public Untouched {
 protected:
  void SetUp() override {
    Untouched::SetUp();
    if (!has_torch()) GTEST_SKIP() << torch_python() << " has no torch";
  }
  void expect_all_pass(const json& data) {
    const json dump{
        {"task", "statistics"}, {"level", "L1"}, {"framework", "pytorch"}, {"dump_data_dir", nullptr}, {"data", data}};
    const Finished finished = msrun({"-api_info", write_dump(dump.dump()), "-o", out(), "--backend", "torch:cpu",
                                     "--python", torch_python(), "--fail-on", "suspicious"},
                                    scratch_.path());
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    const Rows rows = read_csv(only_file(out(), "accuracy_checking_result_"));
    EXPECT_EQ(rows.size(), data.size() + 1);
    for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_EQ(rows[i].at(1), "pass") << rows[i].at(0) << rows[i].back();
  }
};

// A recorded memory format is None, which not every function takes.
TEST_F(TorchForms, MemoryFormats) {
  const json image = tensor({2, 3, 4, 4});
  json data;
  int number = 0;
  for (const char* format : {"contiguous_format", "channels_last"}) {
    const json kwargs{{"memory_format", {{"type", "torch.memory_format"}, {"format", format}}}};
    data["Tensor.contiguous." + std::to_string(number) + ".forward"] = call({image}, kwargs, image);
    data["Tensor.clone." + std::to_string(number++) + ".forward"] = call({image}, kwargs, image);
  }
  expect_all_pass(data);
}

// Processors of older versions of torch have no autocast to float16.
TEST_F(TorchForms, ResultsInFloat16) {
  const json half = tensor({6}, "torch.float16");
  const json kwargs{{"dtype", {{"type", "torch.dtype"}, {"value", "torch.float16"}}}};
  expect_all_pass({{"Tensor.half.0.forward", call({tensor({6})}, json::object(), half)},
                   {"Torch.arange.0.forward", call({0, 6}, kwargs, half)},
                   {"Torch.zeros.0.forward", call({6}, kwargs, half)}});
}

// x == None is False, though Tensor.__eq__ leaves that to Python.
TEST_F(TorchForms, ComparisonsWithNone) {
  expect_all_pass({{"Tensor.__eq__.0.forward", call({tensor({3}), nullptr}, json::object(), false)},
                   {"Tensor.__ne__.0.forward", call({tensor({3}), nullptr}, json::object(), true)}});
}

}  // namespace
}  // namespace msrun::testing
