// The estimate of the time that a run still takes.
#include "orchestrator/supervise/time_left.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

namespace msrun {
namespace {

TEST(EstimatedSeconds, IsThePlanUntilSomethingIsKnown) {
  EXPECT_LT(estimated_seconds({}, 4), 0);
  EXPECT_DOUBLE_EQ(estimated_seconds({.queued = 100}, 4), 25);
  // No more threads than calls.
  EXPECT_DOUBLE_EQ(estimated_seconds({.queued = 0, .running = {{40, 0}, {20, 0}}}, 4), 40);
}

TEST(EstimatedSeconds, FollowsWhatFinishedCallsTook) {
  EXPECT_NEAR(estimated_seconds({.finished = 50, .finished_in = 100, .queued = 50}, 1), 50 * 105 / 55.0, 1e-9);
  EXPECT_NEAR(estimated_seconds({.finished = 50, .finished_in = 25, .queued = 50}, 1), 50 * 30 / 55.0, 1e-9);
}

TEST(EstimatedSeconds, CountsTheTimeInFlight) {
  WorkState work{.queued = 10, .running = {{100, 0}}};
  double last = estimated_seconds(work, 2);
  EXPECT_DOUBLE_EQ(last, 100);
  for (double so_far = 1; so_far <= 102; ++so_far) {
    work.running.front().so_far = so_far;
    const double estimate = estimated_seconds(work, 2);
    EXPECT_LE(estimate, last) << so_far;
    last = estimate;
  }
  // The call takes longer than planned: what is queued is left.
  EXPECT_DOUBLE_EQ(last, 5);
  work.running.front().so_far = 103;
  EXPECT_EQ(estimated_seconds(work, 2), unknown_time_left) << "it may last for any time";
}

// A device that takes four seconds for a call of milliseconds.
TEST(EstimatedSeconds, IsUnknownWhileTheCallsInFlightSpeakAgainstThePlan) {
  WorkState work{.queued = 18, .running = {{0.01, 0}, {0.01, 0}}};
  EXPECT_NEAR(estimated_seconds(work, 2), 9, 0.1);
  for (WorkState::Running& call : work.running) call.so_far = 4;
  EXPECT_EQ(estimated_seconds(work, 2), unknown_time_left);
  work.running.front().so_far = 0;
  work.finished = 0.01;
  work.finished_in = 4;
  EXPECT_GT(estimated_seconds(work, 2), 20);
}

// Calls of a second took twenty: those to come are a hundred times smaller.
TEST(EstimatedSeconds, OfAFarSlowerDeviceIsKnownOnceItShowsWhatItIsSlowAt) {
  WorkState work{.finished = 3, .finished_in = 60, .queued = 1, .finished_calls = 3, .queued_calls = 100};
  work.first = work.last = {.planned = 3, .spent = 60, .calls = 3};
  EXPECT_EQ(estimated_seconds(work, 1), unknown_time_left);
  work.last = {.planned = 0.03, .spent = 60, .calls = 3};
  EXPECT_NEAR(estimated_seconds(work, 1), 2000, 1) << "twenty seconds for each";
  work.last = {.planned = 0.03, .spent = 0.6, .calls = 3};
  EXPECT_NEAR(estimated_seconds(work, 1), 20, 1) << "twenty times as slow";
  work.last = {.planned = 0.03, .spent = 6, .calls = 3};
  EXPECT_EQ(estimated_seconds(work, 1), unknown_time_left) << "neither";
  work.finished = 0.03;
  EXPECT_NEAR(estimated_seconds(work, 1), 2000, 1) << "as those before";
  work.finished_elapsed = 15;
  EXPECT_NEAR(estimated_seconds(work, 1), 500, 1) << "four at a time, whatever there is of processors";
  work.running = {{0.01, 700}};
  EXPECT_EQ(estimated_seconds(work, 1), unknown_time_left) << "one of them does not end";
  work = {.finished = 3, .finished_in = 6, .queued = 1, .finished_calls = 3, .queued_calls = 100};
  EXPECT_NEAR(estimated_seconds(work, 1), 2, 0.1) << "a host that is busy";
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
  EXPECT_NEAR(left_.next(work), 800 * 2080 / 280.0 / 4, 1e-9);
}

TEST_F(TimeLeftTest, MayBeMoreOnceItWasUnknown) {
  WorkState work{.queued = 9, .running = {{1, 0}}};
  const double planned = left_.next(work);
  EXPECT_LT(planned, 3);
  work.running.front().so_far = 20;
  EXPECT_EQ(left_.next(work), unknown_time_left);
  work = {.finished = 1, .finished_in = 20, .queued = 8, .running = {{1, 0}}};
  EXPECT_GT(left_.next(work), 9 * planned);
}

// Large calls come first and are as fast as planned; each small one costs what a large one does.
TEST(TimeLeftOfQueues, IsThatOfTheLastCalls) {
  constexpr std::uint32_t calls = 400;
  std::vector<PlanRecord> records(calls);
  std::vector<std::uint32_t> order(calls);
  std::iota(order.begin(), order.end(), 0U);
  for (std::uint32_t i = 0; i < calls; ++i) records[i].cost = i < 200 ? 1'000'000'000 : 1'000'000;
  QueueMemory memory(order, 1, 0, 1);
  PlanView plan;
  plan.tasks = records;
  const WorkItems items{};
  TimeLeft left(plan, items, {memory.view()}, 1);
  for (std::uint32_t done = 0; done <= 300; ++done) {
    memory.view().lane->cursor = done;
    const double estimate = left.next(plan, {}, done, done);
    if (done == 100) {
      EXPECT_NEAR(estimate, 100.2, 1);
    }
    if (done == 300) {
      EXPECT_NEAR(estimate, 100, 40);
    }
  }
}

}  // namespace
}  // namespace msrun
