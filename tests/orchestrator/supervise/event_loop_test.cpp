// What is ready is handled, what was forgotten is not.
#include "orchestrator/supervise/event_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <system_error>

#include "kernels/base/clock.h"

namespace msrun {
namespace {

using ::testing::UnorderedElementsAre;

void count_up(const UniqueFd& counter) {
  const std::uint64_t one = 1;
  ASSERT_EQ(write(counter.get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
}

TEST(EventLoop, CallsTheHandlersOfWhatCanBeRead) {
  EventLoop loop;
  const UniqueFd first = make_counter();
  const UniqueFd second = make_counter();
  const UniqueFd silent = make_counter();
  std::vector<std::string> called;
  loop.watch(first.get(), [&] { called.push_back("first " + std::to_string(take_count(first.get()))); });
  loop.watch(second.get(), [&] { called.push_back("second " + std::to_string(take_count(second.get()))); });
  loop.watch(silent.get(), [&] { called.emplace_back("silent"); });
  count_up(first);
  count_up(first);
  count_up(second);
  loop.wait(-1);
  EXPECT_THAT(called, UnorderedElementsAre("first 2", "second 1"));
  loop.wait(0);
  EXPECT_EQ(called.size(), 2U);
}

TEST(EventLoop, WaitsNoLongerThanItIsTold) {
  EventLoop loop;
  const double start = steady_seconds();
  loop.wait(0.05);
  EXPECT_GE(steady_seconds() - start, 0.045);
}

TEST(EventLoop, AHandlerMayForgetItself) {
  EventLoop loop;
  const UniqueFd counter = make_counter();
  int calls = 0;
  const std::string owned(100, 'x');
  loop.watch(counter.get(), [&, owned] {
    loop.forget(counter.get());
    calls += static_cast<int>(owned.size());
  });
  count_up(counter);
  loop.wait(-1);
  loop.wait(0);
  EXPECT_EQ(calls, 100);
}

TEST(EventLoop, WhatAnotherHandlerForgotIsNotCalledEvenIfItsNumberIsUsedAgain) {
  EventLoop loop;
  UniqueFd one = make_counter();
  UniqueFd other = make_counter();
  int calls = 0;
  const auto handler = [&](UniqueFd& mine, UniqueFd& theirs) {
    ++calls;
    take_count(mine.get());
    loop.forget(theirs.get());
    theirs.reset();
    theirs = make_counter();
    loop.watch(theirs.get(), [&] { calls += 100; });
  };
  loop.watch(one.get(), [&] { handler(one, other); });
  loop.watch(other.get(), [&] { handler(other, one); });
  count_up(one);
  count_up(other);
  loop.wait(-1);
  EXPECT_EQ(calls, 1);
}

TEST(EventLoop, RefusesWhatIsNoDescriptor) {
  EventLoop loop;
  EXPECT_THROW(loop.watch(-1, [] {}), std::system_error);
  EXPECT_THROW(checked(-1, "a call"), std::system_error);
  EXPECT_EQ(checked(3, "a call"), 3);
}

TEST(Timer, ComesAgainAndAgain) {
  EventLoop loop;
  const UniqueFd timer = make_timer(0.01);
  int ticks = 0;
  loop.watch(timer.get(), [&] { ticks += static_cast<int>(take_count(timer.get())); });
  while (ticks < 3) loop.wait(5);
  EXPECT_GE(ticks, 3);
}

TEST(Lifeline, EndsWithItsWritingEnd) {
  Lifeline lifeline;
  EventLoop loop;
  bool ended = false;
  loop.watch(lifeline.read.get(), [&] { ended = true; });
  loop.wait(0);
  EXPECT_FALSE(ended);
  lifeline.write.reset();
  // The end of a pipe is no input, but it ends the wait.
  loop.wait(5);
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace msrun
