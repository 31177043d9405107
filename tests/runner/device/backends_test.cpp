// The table of backends: every row can be made and says what it is, and requests find their row.
#include "runner/device/backends/backends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_file;

std::string refusal(const BackendRequest& request) {
  return error_of<UserError>([&] { choose_backend(request); });
}

// A product of two tensors that need a gradient, with the results that a recording may hold.
MaterialisedCall matrix_product() {
  MaterialisedCall call;
  call.name = "Torch.mm.0";
  call.parts = *ApiName::parse("Torch.mm.0");
  call.args = {Tensor::full(DType::float32, Dims{2, 3}, 2), Tensor::full(DType::float32, Dims{3, 4}, 0.5)};
  call.requires_grad = {true, true};
  call.backward.run = true;
  call.gradients = {Tensor::full(DType::float32, Dims{2, 4}, 1)};
  call.recorded.emplace();
  call.recorded->outputs = {Tensor::full(DType::float32, Dims{2, 4}, 3)};
  call.recorded->gradients = {Tensor::full(DType::float32, Dims{2, 3}, 2), Tensor::full(DType::float32, Dims{3, 4}, 4)};
  return call;
}

TEST(Backends, HaveNamesOfTheirOwnAndALineOfHelp) {
  std::set<std::string_view> names{"auto"};
  for (const Backend& backend : backends()) {
    EXPECT_TRUE(names.insert(backend.name).second) << backend.name;
    EXPECT_FALSE(backend.help.empty()) << backend.name;
    EXPECT_LE(backend.help.size(), 80U) << backend.name;
    EXPECT_NE(backend.prepare, nullptr) << backend.name;
  }
}

TEST(Backends, AreDocumented) {
  const std::string text = read_file(testing::source_root() + "/docs/architecture.md");
  for (const Backend& backend : backends()) EXPECT_THAT(text, HasSubstr("`" + std::string(backend.name) + "`"));
}

TEST(Backends, EveryOneMakesADeviceThatRunsACall) {
  const MaterialisedCall call = matrix_product();
  const Operator* op = find_operator("Torch", "mm");
  ASSERT_NE(op, nullptr);
  for (const Backend& backend : backends()) {
    if (backend.is_real) continue;  // needs its device
    const ChosenBackend chosen = choose_backend({std::string(backend.name), "", {}, false});
    ASSERT_EQ(chosen.row, &backend);
    const std::unique_ptr<Device> device = chosen.make_device({});
    ASSERT_NE(device, nullptr) << backend.name;
    const DeviceResult result = device->run({call, op->name, op->traits(), std::nullopt});
    const Tensor* output = result.output.get<Tensor>();
    ASSERT_NE(output, nullptr) << backend.name;
    EXPECT_EQ(output->shape(), (Dims{2, 4})) << backend.name;
    EXPECT_EQ(output->contiguous().data<float>()[7], 3) << backend.name;
    EXPECT_EQ(result.backward_problem, "") << backend.name;
    ASSERT_EQ(result.gradients.size(), 2U) << backend.name;
    const Tensor* gradient = result.gradients[1].get<Tensor>();
    ASSERT_NE(gradient, nullptr) << backend.name;
    EXPECT_EQ(gradient->contiguous().data<float>()[11], 4) << backend.name;
  }
}

TEST(Backends, AutoTakesTheFirstThatSuits) {
  const ChosenBackend chosen = choose_backend({});
  EXPECT_EQ(chosen.row->name, "sim");
  EXPECT_FALSE(chosen.row->is_real);
  EXPECT_FALSE(chosen.row->needs_results);
  EXPECT_FALSE(chosen.row->needs_process);
}

// A Python that finds the packages of these names and no other.
std::string python_with(const testing::TemporaryDirectory& folder, const std::string& packages) {
  const std::string program = folder.write("python3",
                                           "#!/bin/sh\nfor word in $(echo \"$3\" | grep -o \"'[a-z_]*'\"); do\n"
                                           "  name=${word#?}; name=${name%?}\n"
                                           "  case \" " +
                                               packages +
                                               " \" in *\" $name \"*) ;; *) exit 1 ;; esac\n"
                                               "done\n");
  EXPECT_EQ(chmod(program.c_str(), 0755), 0);
  return program;
}

// Where a driver is there, the recording says whose functions have to be run.
TEST(Backends, AutoTakesTheFrameworkOfTheRecording) {
  const testing::TemporaryDirectory folder;
  BackendRequest request;
  request.device_files = folder.path();
  request.python = python_with(folder, "torch torch_npu mindspore");
  request.framework = "mindspore";
  EXPECT_EQ(choose_backend(request).name, "sim");
  folder.write("davinci_manager", "");
  EXPECT_EQ(choose_backend(request).name, "mindspore:npu");
  EXPECT_TRUE(choose_backend(request).is_accelerator);
  request.framework = "torch";
  EXPECT_EQ(choose_backend(request).name, "torch:npu");
  request.python = python_with(folder, "torch torch_npu");
  request.framework = "mindspore";
  EXPECT_EQ(choose_backend(request).name, "sim");
  request.python = python_with(folder, "torch mindspore");
  request.framework = "torch";
  EXPECT_EQ(choose_backend(request).name, "sim");
  request.framework = "";
  EXPECT_EQ(choose_backend(request).name, "mindspore:npu");
}

TEST(Backends, RecordedNeedsResults) { EXPECT_TRUE(choose_backend({"recorded", "", {}, false}).row->needs_results); }

TEST(Backends, UnknownNamesAreRefusedWithThoseThereAre) {
  const std::string text = refusal({"torch", "tpu", {}, false});
  EXPECT_THAT(text, HasSubstr("--backend torch:tpu is not part of this build"));
  EXPECT_THAT(refusal({"sim", "cpu", {}, false}), HasSubstr("--backend sim:cpu is not part of this build"));
  for (const Backend& backend : backends()) EXPECT_THAT(text, HasSubstr("'" + std::string(backend.name) + "'"));
}

TEST(Backends, APluginNeedsAFile) {
  EXPECT_THAT(refusal({"plugin", "", {}, false}), HasSubstr("--backend plugin:FILE needs the file of a plugin"));
  EXPECT_THAT(refusal({"plugin", "/nowhere/mine.so", {}, false}), HasSubstr("/nowhere/mine.so: there is no such file"));
  const testing::TemporaryDirectory folder;
  EXPECT_THAT(refusal({"plugin", folder.path().string(), {}, false}),
              HasSubstr(folder.path().string() + ": this is a directory"));
  EXPECT_THAT(refusal({"plugin", "/dev/null", {}, false}), HasSubstr("/dev/null: this is no regular file"));
}

TEST(Backends, SettingsAreThoseOfTheRequest) {
  const ChosenBackend chosen = choose_backend({"sim", "", {"Torch.mm.*=hf32"}, false});
  ASSERT_EQ(chosen.settings.size(), 1U);
  EXPECT_EQ(chosen.settings[0].name, "sim_faults");
  EXPECT_THAT(chosen.settings[0].values, ElementsAre("Torch.mm.*=hf32"));
  // Results of other faults stay when a run is continued.
  EXPECT_FALSE(chosen.settings[0].is_fingerprint);
  EXPECT_THAT(refusal({"sim", "", {"nonsense"}, false}), HasSubstr("--sim-fault nonsense"));
}

TEST(Backends, WithoutPythonSayThatTheyDoNotHeedIt) {
  BackendRequest request{"sim", "", {}, false};
  request.python = "/usr/bin/python3";
  request.torch_lanes = 4;
  request.torch_workers = 2;
  EXPECT_THAT(choose_backend(request).notices,
              ElementsAre("--python does nothing: the backend sim runs no Python.",
                          "--torch-lanes does nothing: the backend sim runs no Python.",
                          "--torch-workers does nothing: the backend sim runs no Python."));
}

TEST(Backends, SayWhatTheyCannotHeed) {
  for (const Backend& backend : backends()) {
    if (backend.is_real) continue;  // needs its device
    const std::string name(backend.name);
    EXPECT_THAT(choose_backend({name, "", {}, false}).notices, IsEmpty());
    const std::vector<std::string> notices = choose_backend({name, "", {}, true}).notices;
    if (backend.compiles) {
      EXPECT_THAT(notices, IsEmpty());
    } else {
      EXPECT_THAT(notices, ElementsAre("-j does nothing: the backend " + name + " compiles no operators."));
    }
  }
}

}  // namespace
}  // namespace msrun
