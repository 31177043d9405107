// The estimate of the time that a run still takes.
#include "orchestrator/supervise/time_left.h"

#include <gtest/gtest.h>

#include <array>

namespace msrun {
namespace {

TEST(EstimatedSeconds, IsThePlanUntilSomethingIsKnown) {
  EXPECT_LT(estimated_seconds({}, 4), 0);
  EXPECT_DOUBLE_EQ(estimated_seconds({.queued = 100}, 4), 25);
  // No more threads than calls.
  EXPECT_DOUBLE_EQ(estimated_seconds({.queued = 0, .running = {{40, 0}, {20, 0}}}, 4), 40);
}

TEST(EstimatedSeconds, FollowsWhatFinishedCallsTook) {
  EXPECT_NEAR(estimated_seconds({.finished = 50, .finished_in = 100, .queued = 50}, 1), 50 * 110 / 60.0, 1e-9);
  EXPECT_NEAR(estimated_seconds({.finished = 50, .finished_in = 25, .queued = 50}, 1), 50 * 35 / 60.0, 1e-9);
}

TEST(EstimatedSeconds, CountsTheTimeInFlight) {
  WorkState work{.queued = 10, .running = {{100, 0}}};
  double last = estimated_seconds(work, 2);
  EXPECT_DOUBLE_EQ(last, 100);
  for (double so_far = 1; so_far < 300; ++so_far) {
    work.running.front().so_far = so_far;
    const double estimate = estimated_seconds(work, 2);
    EXPECT_LE(estimate, last) << so_far;
    last = estimate;
  }
  // The call takes longer than planned: what is queued is left.
  EXPECT_DOUBLE_EQ(last, 5);
}

class TimeLeftTest : public ::testing::Test {
 protected:
  std::array<std::uint32_t, 0> order_{};
  QueueMemory memory_{order_, 1, 0, 4};
  TimeLeft left_{PlanView(), {}, {memory_.view()}, 4};
};

// Small calls that each take a hundred times what was planned, beside a large one that does not.
TEST_F(TimeLeftTest, DoesNotRiseWhileOneLargeCallRuns) {
  WorkState work{.queued = 1, .running = {{100, 0}}};
  double last = left_.next(work);
  EXPECT_DOUBLE_EQ(last, 100);
  for (int i = 1; i <= 100; ++i) {
    work.finished = 0.01 * i;
    work.queued = 1 - work.finished;
    work.finished_in = i;
    work.running.front().so_far = i;
    const double next = left_.next(work);
    EXPECT_LE(next, last) << i;
    last = next;
  }
}

TEST_F(TimeLeftTest, RisesIfTheCallsReallyTakeLonger) {
  WorkState work{.queued = 1000};
  EXPECT_DOUBLE_EQ(left_.next(work), 250);
  work = {.finished = 50, .finished_in = 500, .queued = 950};
  EXPECT_DOUBLE_EQ(left_.next(work), 250);
  work = {.finished = 200, .finished_in = 2000, .queued = 800};
  EXPECT_NEAR(left_.next(work), 800 * 2100 / 300.0 / 4, 1e-9);
}

}  // namespace
}  // namespace msrun
