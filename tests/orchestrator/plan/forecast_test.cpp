// The forecast of --dry-run against what runs of the sample recordings took.
#include <gtest/gtest.h>

#include <filesystem>

#include "orchestrator/plan/forecast.h"
#include "orchestrator/plan/plan.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

// Seconds from start to end with -n 1 on the machine that the prices were fitted on: the least of four runs.
struct Taken {
  const char* recording;
  double seconds;
};
constexpr std::array taken{Taken{"cnn_fp32", 0.126},
                           Taken{"llama_bf16", 0.170},
                           Taken{"llama_bf16_mix", 0.055},
                           Taken{"llama_bf16_tensor", 0.037},
                           Taken{"llama_fp32", 0.334},
                           Taken{"llama_mid_bf16", 4.964},
                           Taken{"moe_bf16", 0.038},
                           Taken{"npu_fused_synth_bf16", 0.022},
                           Taken{"npu_fused_synth_fp32", 0.033},
                           Taken{"rope_complex", 0.014},
                           Taken{"unet_fp32", 0.275},
                           Taken{"vit_fp32", 0.314},
                           Taken{"vit_fp32_tensor", 0.031},
                           Taken{"zoo_stat", 0.055},
                           Taken{"zoo_tensor", 0.075},
                           Taken{"zoo_tensor_small", 0.020}};

double forecast_of(const std::string& recording) {
  PlanOptions options;
  options.refusal = [](const Dialect& dialect, const std::string& name) {
    return dialect.check_refusal(name, [](std::string_view) { return true; });
  };
  const Plan plan = Plan::read(testing::test_data() + "/dumps/" + recording + "/dump.json", options);
  const Forecast forecast;
  double seconds = forecast.start_seconds();
  for (std::uint32_t task = 0; task < plan.size(); ++task) {
    if (plan.view().tasks[task].skip_size == 0) seconds += forecast.seconds(planned_call(plan.view(), task));
  }
  return seconds;
}

TEST(Forecast, IsWithinThirtyPercentOfWhatTheSampleRecordingsTook) {
  for (const Taken& run : taken) {
    const double ratio = forecast_of(run.recording) / run.seconds;
    EXPECT_GE(ratio, 0.7) << run.recording;
    EXPECT_LE(ratio, 1.3) << run.recording;
  }
}

TEST(Forecast, GrowsWithSlownessAndRuns) {
  ApiCall call;
  call.name = "Torch.add.0";
  EXPECT_DOUBLE_EQ(Forecast(3).seconds(call), 3 * Forecast(1).seconds(call));
  EXPECT_GT(Forecast(1).seconds(call, 5), 2 * Forecast(1).seconds(call));
  EXPECT_GT(measured_slowness(), 0);
}

}  // namespace
}  // namespace msrun
