// Whose time counts, and which limits it is held against.
#include "orchestrator/supervise/runner_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "orchestrator/supervise/time_limits.h"

namespace msrun {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(OwnTime, APauseOfTheProcessCountsAsAMoment) {
  OwnTime time(100);
  EXPECT_NEAR(time.pass(100.1), 0.1, 1e-9);
  EXPECT_NEAR(time.pass(100.3), 0.2, 1e-9);
  EXPECT_LE(time.pass(4000), 0.5);
  EXPECT_NEAR(time.pass(4000.1), 0.1, 1e-9);
  EXPECT_EQ(time.pass(3999), 0);
}

class RunnerClockTest : public ::testing::Test {
 protected:
  // Ticks of a tenth of a second; beating: the runner runs.
  void pass(double seconds, bool beating, bool nothing_left = false) {
    for (int tick = 0; tick < static_cast<int>(std::lround(seconds * 10)); ++tick) {
      if (beating) slots_[0].heartbeat.fetch_add(2);
      clock_.pass(0.1, nothing_left);
    }
  }

  void begin(std::size_t slot, std::uint32_t task, std::uint64_t since) {
    slots_[slot].task.store(task);
    slots_[slot].since.store(since);
  }

  std::array<WorkerSlot, 2> slots_;
  RunnerClock clock_{slots_};
};

TEST_F(RunnerClockTest, ACallGrowsOlderOnlyWhileItsRunnerRuns) {
  begin(0, 4, 77);
  begin(1, 5, 0);  // waits for memory
  pass(1, true);
  ASSERT_THAT(clock_.calls(), SizeIs(1));
  EXPECT_EQ(clock_.calls()[0].task, 4U);
  EXPECT_NEAR(clock_.calls()[0].seconds, 0.9, 0.11);
  EXPECT_EQ(clock_.silent(), 0);
  pass(60, false);
  EXPECT_THAT(clock_.calls()[0].seconds, DoubleNear(1, 0.31));
  EXPECT_NEAR(clock_.silent(), 60, 0.01);
  pass(1, true);
  EXPECT_THAT(clock_.calls()[0].seconds, DoubleNear(2, 0.31));
  EXPECT_EQ(clock_.silent(), 0);
}

TEST_F(RunnerClockTest, ACallThatOthersKeepFromItsProcessorGrowsNoOlder) {
  begin(0, 4, 77);
  pass(1, true);
  slots_[0].kept_waiting.store(1);
  pass(60, true);
  slots_[0].kept_waiting.store(0);
  pass(1, true);
  ASSERT_THAT(clock_.calls(), SizeIs(1));
  EXPECT_NEAR(clock_.calls()[0].seconds, 1.9, 0.11);
}

TEST_F(RunnerClockTest, EveryAttemptBeginsAtZero) {
  begin(0, 4, 77);
  pass(5, true);
  begin(0, 4, 99);
  pass(0.1, true);
  EXPECT_THAT(clock_.calls()[0].seconds, 0);
  begin(0, 4, 0);
  pass(1, true);
  EXPECT_THAT(clock_.calls(), IsEmpty());
  begin(0, 4, 100);
  pass(5, true);
  clock_.restart();
  EXPECT_THAT(clock_.calls(), IsEmpty());
}

TEST_F(RunnerClockTest, TellsStartingAndIdleness) {
  pass(3, true);
  EXPECT_NEAR(clock_.starting(), 3, 0.01);
  pass(3, false);
  EXPECT_NEAR(clock_.starting(), 3, 0.31);
  slots_[0].ready.store(1);
  pass(3, true);
  EXPECT_NEAR(clock_.starting(), 3, 0.31);
  EXPECT_EQ(clock_.idle(), 0);
  pass(2, true, true);
  EXPECT_NEAR(clock_.idle(), 2, 0.01);
  pass(1, true, false);
  EXPECT_EQ(clock_.idle(), 0);
}

TEST_F(RunnerClockTest, LimitsAreHeldAgainstIt) {
  const std::string text = "call";
  PlanRecord record;
  record.name_size = 4;
  const std::array<PlanRecord, 2> records{record, record};
  const PlanView plan{records, text.data()};
  TimeLimits limits(3, plan);
  begin(1, 1, 5);
  pass(2.5, true);
  EXPECT_THAT(limits.exceeded(clock_, 0), IsEmpty());
  pass(100, false);
  EXPECT_THAT(limits.exceeded(clock_, 0), IsEmpty());
  EXPECT_GT(clock_.silent(), limits.silent());
  pass(1.5, true);
  EXPECT_THAT(limits.exceeded(clock_, 0), ElementsAre(1));
  TimeLimits none(0, plan);
  EXPECT_THAT(none.exceeded(clock_, 0), IsEmpty());
}

TEST(TimeLimits, ForRunnersFollowThoseForCalls) {
  const PlanView plan;
  EXPECT_EQ(TimeLimits(std::nullopt, plan).silent(), 30);
  EXPECT_EQ(TimeLimits(0, plan).silent(), 30);
  EXPECT_EQ(TimeLimits(5, plan).silent(), 5);
  EXPECT_EQ(TimeLimits(0.1, plan).silent(), 2);
  EXPECT_EQ(TimeLimits(3600, plan).silent(), 30);
  EXPECT_EQ(TimeLimits(std::nullopt, plan).idle(), 10);
  EXPECT_EQ(TimeLimits(5, plan).idle(), 5);
  EXPECT_EQ(TimeLimits(std::nullopt, plan).starting(), 300);
  EXPECT_EQ(TimeLimits(3600, plan).starting(), 3600);
  EXPECT_TRUE(std::isinf(TimeLimits(0, plan).starting()));
}

}  // namespace
}  // namespace msrun
