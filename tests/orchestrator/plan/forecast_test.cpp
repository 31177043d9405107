// The forecast of --dry-run: its arithmetic, with speeds that are given to it, and its prices against what runs of the
// sample recordings took.
#include "orchestrator/plan/forecast.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/api/operators.h"
#include "orchestrator/plan/plan.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

// Seconds from start to end with -n 1 on the machine that the prices were fitted on: the least of some runs.
struct Taken {
  const char* recording;
  double seconds;
};
constexpr std::array taken{Taken{"cnn_fp32", 0.047},
                           Taken{"cnn_fp32_mix", 0.017},
                           Taken{"llama_bf16", 0.060},
                           Taken{"llama_bf16_mix", 0.024},
                           Taken{"llama_bf16_tensor", 0.014},
                           Taken{"llama_fp32", 0.090},
                           Taken{"llama_mid_bf16", 1.923},
                           Taken{"moe_bf16", 0.021},
                           Taken{"npu_fused_synth_bf16", 0.012},
                           Taken{"npu_fused_synth_fp32", 0.014},
                           Taken{"unet_fp32", 0.089},
                           Taken{"vit_fp32", 0.120},
                           Taken{"zoo_stat", 0.023},
                           Taken{"zoo_tensor", 0.032}};

double forecast_of(const std::string& recording, const HostSlowness& slowness = {}) {
  PlanOptions options;
  options.refusal = [](const Dialect& dialect, const std::string& name) {
    return dialect.check_refusal(name, [](std::string_view) { return true; });
  };
  const Plan plan = Plan::read(testing::test_data() + "/dumps/" + recording + "/dump.json", options);
  const Forecast forecast(slowness);
  double seconds = 0;
  double calls = 0;
  for (std::uint32_t task = 0; task < plan.size(); ++task) {
    if (plan.view().tasks[task].skip_size > 0) continue;
    seconds += forecast.seconds(planned_call(plan.view(), task));
    ++calls;
  }
  return seconds + forecast.serial_seconds(calls);
}

TEST(Forecast, IsWithinThirtyPercentOfWhatTheSampleRecordingsTook) {
  for (const Taken& run : taken) {
    const double ratio = forecast_of(run.recording) / run.seconds;
    EXPECT_GE(ratio, 0.7) << run.recording;
    EXPECT_LE(ratio, 1.3) << run.recording;
  }
}

Value tensor(const std::string& dtype, std::vector<std::int64_t> shape) {
  auto spec = std::make_shared<TensorSpec>();
  spec->dtype = "torch." + dtype;
  spec->shape = std::move(shape);
  return std::shared_ptr<const TensorSpec>(std::move(spec));
}

ApiCall call_of(const std::string& name, const std::string& dtype, std::int64_t size) {
  ApiCall call;
  call.name = name;
  call.args = {tensor(dtype, {size, size}), tensor(dtype, {size, size})};
  call.has_backward = true;
  call.grad_inputs = {tensor(dtype, {size, size})};
  return call;
}

// How many times as long a call takes where one kind of work takes a thousand times as long.
double slower(const ApiCall& call, double HostSlowness::*kind) {
  HostSlowness slowness;
  slowness.*kind = 1000;
  return Forecast(slowness).seconds(call) / Forecast().seconds(call);
}

// Of each kind of call nearly all is work of one kind, which alone makes it much slower.
TEST(Forecast, GrowsWithTheSlownessOfWhatACallConsistsOf) {
  const std::vector<std::pair<double HostSlowness::*, ApiCall>> calls{
      {&HostSlowness::calls, call_of("Torch.add.0", "float32", 2)},
      {&HostSlowness::elements, call_of("Torch.add.0", "float32", 400)},
      {&HostSlowness::large_elements, call_of("Torch.add.0", "float32", 4000)},
      {&HostSlowness::half_elements, call_of("Torch.add.0", "float16", 4000)},
      {&HostSlowness::products, call_of("Torch.matmul.0", "float32", 4000)},
      {&HostSlowness::half_products, call_of("Torch.matmul.0", "bfloat16", 4000)}};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    for (std::size_t k = 0; k < calls.size(); ++k) {
      const double factor = slower(calls[i].second, calls[k].first);
      if (i == k) {
        EXPECT_GT(factor, 900) << i;
      } else {
        EXPECT_LT(factor, 100) << i << " " << k;
      }
    }
  }
}

TEST(Forecast, IsProportionalToTheSlownessOfAll) {
  const HostSlowness thrice{3, 3, 3, 3, 3, 3};
  EXPECT_NEAR(forecast_of("llama_fp32", thrice) / forecast_of("llama_fp32"), 3, 1e-9);
  EXPECT_NEAR(forecast_of("moe_bf16", thrice) / forecast_of("moe_bf16"), 3, 1e-9);
}

TEST(Forecast, CountsWhatIsKnownOfTheOperator) {
  const ApiCall sum = call_of("Torch.add.0", "float32", 2000);
  const ApiCall angle = call_of("Torch.atan2.0", "float32", 2000);
  EXPECT_NEAR(Forecast().seconds(angle) / Forecast().seconds(sum), traits_of(*ApiName::parse(angle.name)).element_work,
              0.01);
}

TEST(Forecast, IntegersCostLittleAndLargeTensorsMore) {
  const auto per_element = [](const std::string& dtype, std::int64_t size) {
    return Forecast().seconds(call_of("Torch.add.0", dtype, size)) / static_cast<double>(size * size);
  };
  EXPECT_LT(per_element("int64", 2000), per_element("float32", 2000) / 2);
  EXPECT_GT(per_element("float32", 2000), 1.2 * per_element("float32", 400));
}

// Without a backward nothing tells how large the outputs are: as large as the arguments.
TEST(Forecast, ACallWithoutBackwardHasOutputsToo) {
  ApiCall call = call_of("Torch.add.0", "float32", 2000);
  const double with_gradient = Forecast().seconds(call);
  call.has_backward = false;
  call.grad_inputs.clear();
  EXPECT_GT(Forecast().seconds(call), with_gradient);
}

TEST(Forecast, GrowsWithTheRunsOfTheDeviceAndWithTheCalls) {
  const ApiCall call = call_of("Torch.add.0", "float32", 2);
  EXPECT_GT(Forecast().seconds(call, 5), 2 * Forecast().seconds(call));
  EXPECT_GT(Forecast().serial_seconds(0), 0);
  EXPECT_GT(Forecast().serial_seconds(1e6), 10);
}

}  // namespace
}  // namespace msrun
