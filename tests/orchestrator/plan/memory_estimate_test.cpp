// The plan's memory estimates against what the tensors of a call really take.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "kernels/api/call_codec.h"
#include "kernels/tensor/memory.h"
#include "orchestrator/plan/plan.h"
#include "runner/check/check.h"
#include "runner/device/sim/sim.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

struct Measured {
  std::string name;
  double estimate;
  double peak;
};

std::vector<Measured> measure(const std::filesystem::path& dump) {
  PlanOptions options;
  options.refusal = [](const Dialect&, const std::string&) { return Refusal{}; };
  const Plan plan = Plan::read(dump.string(), options);
  const std::unique_ptr<Device> device = make_sim_device({});
  std::vector<Measured> all;
  for (std::uint32_t task = 0; task < plan.size(); ++task) {
    const PlanView& view = plan.view();
    ApiCall call = decode_call(view.call(task));
    std::string_view gradients = view.gradients(task);
    if (!gradients.empty()) {
      call.has_backward = true;
      call.grad_inputs = *decode_value(gradients).get<List>();
    }
    const TensorMemoryScope scope(std::uint64_t{8} << 30);
    const ApiResult result = check_api(call, task, *device, 0, {});
    if (result.forward == Status::skip) continue;
    all.push_back({call.name, static_cast<double>(view.tasks[task].memory), static_cast<double>(scope.peak())});
  }
  return all;
}

TEST(MemoryEstimate, IsWithinAFactorOfTwo) {
  constexpr double fixed = 1 << 20;  // bytes that every estimate includes
  std::size_t counted = 0;
  for (const char* fixture :
       {"llama_mid_bf16", "unet_fp32", "cnn_fp32", "vit_fp32", "llama_fp32", "npu_fused_synth_bf16"}) {
    for (const Measured& call :
         measure(std::filesystem::path(testing::test_data()) / "dumps" / fixture / "dump.json")) {
      if (call.peak < fixed / 4) continue;
      ++counted;
      const double ratio = call.estimate / (call.peak + fixed);
      EXPECT_GE(ratio, 0.5) << fixture << " " << call.name << ": " << call.peak << " bytes";
      EXPECT_LE(ratio, 2.0) << fixture << " " << call.name << ": " << call.peak << " bytes";
    }
  }
  EXPECT_GT(counted, 100U);
}

// A call that autocast lowers is computed a third time, from its arguments in the half type.
TEST(MemoryEstimate, CountsTheSecondBenchmarkOfAutocast) {
  const auto tensor = [](const char* dtype, const char* shape) {
    return std::string(
               R"({"type":"torch.Tensor","requires_grad":true,"Max":1,"Min":-1,"Mean":0,"Norm":1,"dtype":"torch.)") +
           dtype + R"(","shape":)" + shape + "}";
  };
  const std::string arguments = tensor("float32", "[512,1024]") + "," + tensor("float32", "[768,1024]");
  const std::string output = tensor("bfloat16", "[512,768]");
  const testing::TemporaryDirectory folder;
  std::ofstream(folder.file("dump.json"))
      << R"({"task":"statistics","level":"L1","framework":"pytorch","dump_data_dir":null,"data":{)"
      << R"("Functional.linear.0.forward":{"input_args":[)" << arguments << R"(],"input_kwargs":{},"output":[)"
      << output << R"(]},"Functional.linear.0.backward":{"input":[)" << output << R"(],"output":[)" << arguments
      << "]}}}";
  const std::vector<Measured> all = measure(folder.file("dump.json"));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_GE(all.front().estimate / all.front().peak, 0.9) << all.front().peak;
  EXPECT_LE(all.front().estimate / all.front().peak, 2.0) << all.front().peak;
}

}  // namespace
}  // namespace msrun
