// The plan's memory estimates against what the tensors of a call really take.
#include <gtest/gtest.h>

#include "kernels/api/call_codec.h"
#include "kernels/tensor/memory.h"
#include "orchestrator/plan/plan.h"
#include "runner/check/check.h"
#include "runner/device/sim/sim.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

struct Measured {
  std::string name;
  double estimate;
  double peak;
};

std::vector<Measured> measure(const std::string& fixture) {
  PlanOptions options;
  options.refusal = [](const Dialect&, const std::string&) { return Refusal{}; };
  const Plan plan = Plan::read(testing::test_data() + "/dumps/" + fixture + "/dump.json", options);
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
    for (const Measured& call : measure(fixture)) {
      if (call.peak < fixed / 4) continue;
      ++counted;
      const double ratio = call.estimate / (call.peak + fixed);
      EXPECT_GE(ratio, 0.5) << fixture << " " << call.name << ": " << call.peak << " bytes";
      EXPECT_LE(ratio, 2.0) << fixture << " " << call.name << ": " << call.peak << " bytes";
    }
  }
  EXPECT_GT(counted, 100U);
}

}  // namespace
}  // namespace msrun
