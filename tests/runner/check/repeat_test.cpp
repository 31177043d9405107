// Calls that the device runs several times: what is found, what is not blamed, and how often a fault that comes by
// chance is seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/error.h"
#include "runner/check/check.h"
#include "runner/device/sim/sim.h"
#include "runner/results/counts.h"
#include "runner/results/reason.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CheckOptions runs(std::uint32_t count) {
  CheckOptions options;
  options.repeat = count;
  return options;
}

ApiCall product(const std::string& index = "0") { return call_of("Torch.mul." + index, {{2, 8}, {2, 8}}, {2, 8}); }

TEST(Repeat, WithoutItThereIsAChecksumAndNothingElse) {
  const ApiResult result = check(product(), {});
  EXPECT_EQ(result.checksums.outputs.size(), 1U);
  EXPECT_EQ(result.checksums.gradients.size(), 2U);
  EXPECT_FALSE(result.repeats);
  EXPECT_EQ(result.checksums, check(product(), {}, {}, runs(3)).checksums);
}

TEST(Repeat, SoundDevicesAreSteady) {
  const ApiResult result = check(product(), {}, {}, runs(4));
  ASSERT_TRUE(result.repeats);
  EXPECT_EQ(result.repeats->runs, 4U);
  EXPECT_EQ(result.repeats->different, 0U);
  EXPECT_FALSE(is_suspicious(result));
  EXPECT_EQ(message_with_reason(result), "");
}

TEST(Repeat, OneRunOfSeveralIsFoundWhicheverItIs) {
  for (const int wrong : {0, 1, 2}) {
    const ApiResult result = check(
        product(), [&](DeviceResult& of, int run) { scale(of.gradients.at(1), run == wrong ? 1.0001 : 1); }, {},
        runs(3));
    ASSERT_TRUE(result.repeats);
    EXPECT_EQ(result.repeats->different, 1U) << wrong;
    EXPECT_EQ(result.repeats->output, "backward.output.1");
    EXPECT_TRUE(is_suspicious(result)) << wrong;
    EXPECT_THAT(message_with_reason(result),
                HasSubstr("Not the same in every run: with the same inputs 1 of 3 runs gave other bits than the rest "
                          "(backward.output.1)."));
  }
}

TEST(Repeat, TheVerdictIsThatOfTheFirstRun) {
  const ApiResult result = check(
      product(), [](DeviceResult& of, int run) { scale(of.output, run == 2 ? 2 : 1); }, {}, runs(3));
  EXPECT_EQ(result.forward, Status::pass);
  EXPECT_THAT(message_with_reason(result), ::testing::StartsWith("Suspicious: Not the same in every run"));
}

TEST(Repeat, OperatorsThatAreDeclaredToVaryAreNamedAndNotBlamed) {
  const auto unsteady = [](DeviceResult& of, int run) { scale(of.output, run == 1 ? 1.0001 : 1); };
  const ApiCall sums = call_of("Torch.cumsum.0", {{2, 8}}, {2, 8});
  ApiCall call = sums;
  call.args.emplace_back(std::int64_t{1});
  const ApiResult result = check(call, unsteady, {}, runs(3));
  ASSERT_TRUE(result.repeats);
  EXPECT_EQ(result.repeats->different, 1U);
  EXPECT_TRUE(result.repeats->may_vary);
  EXPECT_FALSE(is_suspicious(result));
  EXPECT_EQ(message_with_reason(result),
            "Varies from run to run, as its operator may: 1 of 3 runs (forward.output.0).");
}

TEST(Repeat, ARunThatGivesNothingDiffers) {
  const ApiResult result = check(
      product(),
      [](DeviceResult&, int run) {
        if (run == 1) throw SkipError("the device is tired");
      },
      {}, runs(3));
  EXPECT_EQ(result.forward, Status::pass);
  ASSERT_TRUE(result.repeats);
  EXPECT_EQ(result.repeats->different, 1U);
  EXPECT_TRUE(is_suspicious(result));
  EXPECT_THAT(message_with_reason(result), HasSubstr("the device is tired"));
}

// A fault that strikes each run with probability p is found with 1 - (1 - p)^N.
TEST(Repeat, FindsFaultsThatComeByChanceAsOftenAsRunsAllow) {
  constexpr int calls = 600;
  for (const double p : {0.05, 0.3}) {
    for (const std::uint32_t count : {1U, 3U, 8U}) {
      const auto device = make_sim_device({parse_sim_fault("*=wrong-once=" + std::to_string(p))}, 0, 11);
      int found = 0;
      for (int i = 0; i < calls; ++i) {
        found += is_suspicious(check_api(product(std::to_string(i)), 0, *device, 0, runs(count))) ? 1 : 0;
      }
      const double expected = 1 - std::pow(1 - p, count);
      const double deviation = std::sqrt(expected * (1 - expected) / calls);
      EXPECT_NEAR(static_cast<double>(found) / calls, expected, 3 * deviation) << p << " " << count;
    }
  }
}

}  // namespace
}  // namespace msrun::testing
