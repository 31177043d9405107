// A runner's process from start to end: what it sends, what its slots tell when it dies, and that none is left.
#include "orchestrator/supervise/forked_runner.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>

#include "kernels/base/process_end.h"
#include "kernels/base/unique_fd.h"
#include "orchestrator/supervise/event_loop.h"
#include "orchestrator/supervise/runner_seat.h"
#include "runner/shared/region.h"
#include "tests/support/msrun_process.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool readable(int descriptor, int milliseconds) {
  pollfd poll_descriptor{descriptor, POLLIN, 0};
  return poll(&poll_descriptor, 1, milliseconds) == 1;
}

class ForkedRunnerTest : public ::testing::Test {
 protected:
  static constexpr std::size_t first_slot = 1;
  static constexpr std::size_t threads = 2;

  ForkedRunnerTest() : memory_(std::vector<std::uint32_t>{5, 6, 7}, 4, 1000, 2), queue_(memory_.view()) {}

  WorkerSlot& slot(std::size_t thread) { return queue_.slots[first_slot + thread]; }

  void send(std::size_t thread, const std::string& record) {
    const std::string framed = frame_record(record);
    queue_.rings[first_slot + thread].push(framed);
  }

  void start(const std::function<void()>& body) {
    seat_.clear();
    runner_.start(seat_.device(), body);
  }

  std::vector<std::string> received() {
    std::vector<std::string> records;
    seat_.drain([&](std::string_view record) { records.emplace_back(record); });
    return records;
  }

  int wait_for_end() {
    EXPECT_TRUE(readable(runner_.end_descriptor(), 60000));
    const std::optional<int> status = runner_.reap();
    EXPECT_TRUE(status);
    EXPECT_FALSE(runner_.running());
    return status.value_or(-1);
  }

  QueueMemory memory_;
  SharedQueue queue_;
  RunnerSeat seat_{3, queue_, first_slot, threads};
  ForkedRunner runner_;
};

TEST_F(ForkedRunnerTest, HandsOverWholeRecords) {
  EXPECT_FALSE(runner_.running());
  start([&] {
    send(0, "first");
    send(1, "second");
    send(1, "");
    queue_.rings[first_slot].push("\x09");  // the beginning of a frame
  });
  EXPECT_TRUE(runner_.running());
  EXPECT_EQ(wait_for_end(), 0);
  EXPECT_THAT(received(), ElementsAre("first", "second", ""));
  EXPECT_THAT(received(), IsEmpty());
  EXPECT_GT(runner_.peak(), 0U);
  EXPECT_FALSE(runner_.reap());
}

TEST_F(ForkedRunnerTest, TellsWhatADeadProcessWasAt) {
  start([&] {
    slot(0).task.store(6);
    slot(0).since.store(2'000'000'000);
    slot(1).task.store(7);
    slot(1).fatal_signal.store(SIGABRT);
    queue_.admit(slot(1), 400);
    queue_.acquire_processor(slot(1), [] { return true; });
    ::raise(SIGKILL);
  });
  const int status = wait_for_end();
  EXPECT_EQ(death_text(status), "killed by signal 9 (SIGKILL)");
  const std::vector<RunnerSeat::Activity> activities = seat_.activities();
  ASSERT_EQ(activities.size(), 2U);
  EXPECT_EQ(activities[0].task, 6U);
  EXPECT_EQ(activities[0].since, 2);
  EXPECT_FALSE(activities[0].caught_signal);
  EXPECT_EQ(activities[1].task, 7U);
  EXPECT_TRUE(activities[1].caught_signal);
  EXPECT_EQ(queue_.memory_in_use(), 400U);
  EXPECT_EQ(queue_.tokens_in_use(), 1U);
  seat_.release();
  EXPECT_EQ(queue_.memory_in_use(), 0U);
  EXPECT_EQ(queue_.tokens_in_use(), 0U);

  // The next one begins with empty slots and rings, and leaves those of other runners alone.
  queue_.slots[0].task.store(5);
  send(0, "left over");
  start([] {});
  EXPECT_EQ(wait_for_end(), 0);
  EXPECT_THAT(seat_.activities(), IsEmpty());
  EXPECT_THAT(received(), IsEmpty());
  EXPECT_EQ(queue_.slots[0].task.load(), 5U);
}

// Then the kernel reaps it: the process is no more, and its number may be another's.
TEST_F(ForkedRunnerTest, HasEndedAlsoWhereNobodyKnowsHow) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  // The child, of which nothing is left behind, lives until its descriptor has been opened.
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd wait_end(ends[0]);
  UniqueFd go_end(ends[1]);
  start([&] {
    go_end.reset();
    char none = 0;
    EXPECT_EQ(read(wait_end.get(), &none, 1), 0);
  });
  go_end.reset();
  EXPECT_TRUE(readable(runner_.end_descriptor(), 60000));
  std::optional<int> status;
  EXPECT_TRUE(testing::eventually(30, [&] { return (status = runner_.reap()).has_value(); }));
  EXPECT_FALSE(runner_.running());
  EXPECT_EQ(death_text(status.value_or(0)), "killed by signal 9 (SIGKILL)");
  std::signal(SIGCHLD, before);
}

TEST_F(ForkedRunnerTest, AnExceptionIsExitCode4) {
  start([] { throw std::runtime_error("no such device"); });
  const int status = wait_for_end();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 4);
  EXPECT_EQ(death_text(status), "ended with exit code 4");
}

TEST_F(ForkedRunnerTest, WhatEndsAJobIsForTheSupervisor) {
  start([&] {
    raise(SIGINT);
    raise(SIGHUP);
    raise(SIGTERM);
    send(0, "alive");
    raise(SIGUSR1);
  });
  EXPECT_EQ(death_text(wait_for_end()), "killed by signal 10 (SIGUSR1)");
  EXPECT_THAT(received(), ElementsAre("alive"));
}

TEST_F(ForkedRunnerTest, IsKilledAndWaitedFor) {
  const auto forever = [] {
    while (true) pause();
  };
  start(forever);
  EXPECT_FALSE(runner_.reap());
  runner_.kill();
  EXPECT_EQ(death_text(wait_for_end()), "killed by signal 9 (SIGKILL)");
  start(forever);
  runner_.end_now();
  EXPECT_FALSE(runner_.running());
  runner_.end_now();
  {
    ForkedRunner another;
    another.start(4, forever);
    EXPECT_TRUE(another.running());
  }
  // No child is left, alive or dead.
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

}  // namespace
}  // namespace msrun
