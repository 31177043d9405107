// Rings, queue and admission, across threads and across fork.
#include "runner/shared/region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "runner/shared/queue_steps.h"

namespace msrun {
namespace {

bool always() { return true; }

TEST(ResultRing, CarriesMessagesOfAnyLength) {
  const std::vector<std::uint32_t> order{0};
  const QueueMemory memory(order, 1, 1, 1);
  ResultRing& ring = memory.view().rings[0];
  std::mt19937 random(3);
  std::vector<std::string> sent;
  for (int i = 0; i < 200; ++i) {
    sent.emplace_back(i == 50 ? 3 * ResultRing::capacity : random() % 5000, static_cast<char>('a' + i % 26));
  }
  std::thread producer([&] {
    for (const std::string& message : sent) {
      const std::string framed = frame_record(message);
      std::string_view rest = framed;
      while (!rest.empty()) rest.remove_prefix(ring.push(rest));
    }
  });
  std::vector<std::string> received;
  std::string bytes;
  while (received.size() < sent.size()) {
    ring.drain(bytes);
    std::size_t consumed = 0;
    std::string_view record;
    while (unframe_record(bytes, consumed, record)) received.emplace_back(record);
    bytes.erase(0, consumed);
  }
  producer.join();
  EXPECT_EQ(received, sent);
}

// A cache line that one thread writes for each task is read by no other for anything else: what several threads read
// for each task is apart from what changes with each.
TEST(SharedQueue, NothingThatIsWrittenSharesALineWithWhatOthersRead) {
  constexpr std::uintptr_t line = 64;
  const auto line_of = [](const auto& member) { return reinterpret_cast<std::uintptr_t>(&member) / line; };
  const std::vector<std::vector<std::uint32_t>> orders{{0, 1, 2}, {3}};
  const QueueMemory memory(orders, 3, 1, 1);
  std::map<std::uintptr_t, std::string> owners;
  const auto expect_alone = [&](std::uintptr_t first, std::size_t bytes, const std::string& owner) {
    EXPECT_EQ(first % line, 0U) << owner;
    for (std::uintptr_t at = first / line; at < (first + bytes + line - 1) / line; ++at) {
      EXPECT_TRUE(owners.try_emplace(at, owner).second) << owner << " shares a line with " << owners[at];
    }
  };
  for (std::size_t lane = 0; lane < orders.size(); ++lane) {
    const SharedQueue queue = memory.view(lane);
    expect_alone(reinterpret_cast<std::uintptr_t>(queue.lane), sizeof(QueueLane), "a lane");
    expect_alone(reinterpret_cast<std::uintptr_t>(queue.order), sizeof(std::uint32_t), "an order");
  }
  const SharedQueue queue = memory.view();
  const QueueControl& control = *queue.control;
  expect_alone(reinterpret_cast<std::uintptr_t>(&control), sizeof(QueueControl), "the control");
  EXPECT_EQ(line_of(control.stop), line_of(control.processors));
  EXPECT_EQ(line_of(control.stop), line_of(control.memory_budget));
  EXPECT_NE(line_of(control.stop), line_of(control.results_waiting));
  for (const WorkerSlot& slot : queue.slots) {
    expect_alone(reinterpret_cast<std::uintptr_t>(&slot), sizeof(WorkerSlot), "a slot");
  }
  for (const ResultRing& ring : queue.rings) {
    expect_alone(reinterpret_cast<std::uintptr_t>(&ring), sizeof(ResultRing), "a ring");
  }
}

TEST(SharedQueue, EveryTaskIsTakenOnceByForkedProcesses) {
  std::vector<std::uint32_t> order(5000);
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const QueueMemory memory(order, 4, 1, 4);
  const SharedQueue queue = memory.view();
  std::vector<pid_t> pids;
  for (std::size_t process = 0; process < 4; ++process) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      WorkerSlot& slot = queue.slots[process];
      std::uint64_t sum = 0;
      while (const std::optional<std::uint32_t> task = queue.take(slot)) {
        if (slot.task.load() == *task) sum += *task + 1;
      }
      slot.memory.store(sum);
      _exit(0);
    }
    pids.push_back(pid);
  }
  for (const pid_t pid : pids) waitpid(pid, nullptr, 0);
  std::uint64_t total = 0;
  for (const WorkerSlot& slot : queue.slots) total += slot.memory.load();
  EXPECT_EQ(total, 5000U * 5001U / 2);
}

TEST(SharedQueue, StopKeepsTasksInTheQueue) {
  const std::vector<std::uint32_t> order{4, 2};
  const QueueMemory memory(order, 1, 1, 1);
  const SharedQueue queue = memory.view();
  EXPECT_EQ(queue.take(queue.slots[0]), 4U);
  EXPECT_TRUE(queue.any_left());
  queue.control->stop.store(1);
  EXPECT_FALSE(queue.any_left());
  EXPECT_FALSE(queue.take(queue.slots[0]));
  EXPECT_EQ(queue.slots[0].task.load(), WorkerSlot::idle);
  EXPECT_EQ(queue.lane->cursor.load(), 1U);
}

TEST(SharedQueue, AdmitsOneOversizedTaskAtATime) {
  const QueueMemory memory(std::vector<std::uint32_t>{}, 2, 100, 2);
  const SharedQueue queue = memory.view();
  ASSERT_TRUE(queue.admit(queue.slots[0], 500));
  std::atomic<bool> second_in{false};
  std::thread second([&] {
    queue.admit(queue.slots[1], 60);
    second_in = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(second_in);
  queue.release(queue.slots[0]);
  second.join();
  EXPECT_EQ(queue.memory_in_use(), 60U);
  EXPECT_TRUE(queue.admit(queue.slots[0], 40));
  queue.release(queue.slots[0]);
  queue.release(queue.slots[1]);
  EXPECT_EQ(queue.memory_in_use(), 0U);
}

TEST(SharedQueue, ProcessorTokensAreLimitedAndGivenBack) {
  const QueueMemory memory(std::vector<std::uint32_t>{}, 3, 100, 1);
  const SharedQueue queue = memory.view();
  ASSERT_TRUE(queue.acquire_processor(queue.slots[0], always));
  std::atomic<bool> wanted{true};
  std::thread giving_up([&] { EXPECT_FALSE(queue.acquire_processor(queue.slots[2], [&] { return wanted.load(); })); });
  std::thread waiting([&] { queue.acquire_processor(queue.slots[1], always); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(queue.tokens_in_use(), 1U);
  EXPECT_EQ(queue.slots[1].computing.load(), 0U);
  wanted = false;
  giving_up.join();
  queue.release(queue.slots[0]);
  waiting.join();
  EXPECT_EQ(queue.slots[1].computing.load(), 1U);
  queue.release(queue.slots[1]);
  queue.release(queue.slots[1]);
  EXPECT_EQ(queue.tokens_in_use(), 0U);
}

auto within(int seconds) {
  return [until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds)] {
    return std::chrono::steady_clock::now() < until;
  };
}

// A call that comes back from its device holds memory and needs a token; one that waits for that memory leaves it the
// token.
TEST(SharedQueue, WhoWaitsForMemoryLeavesTheTokenToThoseThatHoldIt) {
  const QueueMemory memory(std::vector<std::uint32_t>{}, 2, 100, 1);
  const SharedQueue queue = memory.view();
  WorkerSlot& on_device = queue.slots[0];
  ASSERT_TRUE(queue.acquire_processor(on_device, always));
  ASSERT_TRUE(queue.admit(on_device, 80));
  on_device.computing.store(0);
  ASSERT_TRUE(queue.acquire_processor(queue.slots[1], always));
  std::thread waiting([&] { EXPECT_TRUE(queue.admit(queue.slots[1], 80)); });
  const bool goes_on = queue.acquire_processor(on_device, within(10));
  EXPECT_TRUE(goes_on);
  queue.release(on_device);
  waiting.join();
  EXPECT_EQ(queue.memory_in_use(), 80U);
  EXPECT_EQ(queue.tokens_in_use(), 1U);
  EXPECT_EQ(queue.slots[1].in_line.load(), 0U);
}

TEST(SharedQueue, WhoWaitsForMemoryGivesUpWhenTheRunIsStopped) {
  const QueueMemory memory(std::vector<std::uint32_t>{}, 2, 100, 1);
  const SharedQueue queue = memory.view();
  ASSERT_TRUE(queue.admit(queue.slots[0], 80));
  std::thread waiting([&] { EXPECT_FALSE(queue.admit(queue.slots[1], 80)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  queue.control->stop.store(1);
  waiting.join();
  EXPECT_EQ(queue.memory_in_use(), 80U);
  EXPECT_EQ(queue.slots[1].in_line.load(), 0U);
}

// Small calls follow each other so that one or another always holds memory.
TEST(SharedQueue, ALargeCallIsNotOvertakenForever) {
  constexpr std::size_t small_ones = 4;
  const QueueMemory memory(std::vector<std::uint32_t>{}, small_ones + 1, 100, small_ones + 1);
  const SharedQueue queue = memory.view();
  std::atomic<bool> is_over{false};
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < small_ones; ++i) {
    workers.emplace_back([&, i] {
      while (!is_over && queue.acquire_processor(queue.slots[i], always) && queue.admit(queue.slots[i], 30)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        queue.release(queue.slots[i]);
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  WorkerSlot& large = queue.slots[small_ones];
  std::atomic<bool> is_in{false};
  std::thread waiting([&] { is_in = queue.admit(large, 100); });
  for (const auto still = within(15); !is_in && still();) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(is_in);
  is_over = true;
  queue.control->stop.store(1);
  waiting.join();
  for (std::thread& worker : workers) worker.join();
}

// Many threads at few tokens and little memory: what is held at a time is never more than there is.
TEST(SharedQueue, ClaimsThatMeetNeverHoldTooMuch) {
  constexpr std::size_t threads = 8;
  constexpr std::uint32_t tokens = 2;
  constexpr std::uint64_t budget = 100;
  const QueueMemory memory(std::vector<std::uint32_t>{}, threads, budget, tokens);
  const SharedQueue queue = memory.view();
  std::atomic<std::uint32_t> computing{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<bool> exceeded{false};
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] {
      for (int round = 0; round < 50; ++round) {
        queue.acquire_processor(queue.slots[i], always);
        queue.admit(queue.slots[i], 60);
        if (computing.fetch_add(1) >= tokens || bytes.fetch_add(60) + 60 > budget) exceeded = true;
        std::this_thread::yield();
        computing.fetch_sub(1);
        bytes.fetch_sub(60);
        queue.release(queue.slots[i]);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_FALSE(exceeded);
  EXPECT_EQ(queue.tokens_in_use(), 0U);
  EXPECT_EQ(queue.memory_in_use(), 0U);
}

int steps_to_go = 0;

// At every step of one worker's way through the queue: what the dead process held is given back when its slot is, and
// what it had taken is in its slot or in the queue.
TEST(SharedQueue, ADeathAtAnyStepLosesNothing) {
  for (int step = 1;; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const QueueMemory memory(std::vector<std::uint32_t>{7, 8}, 2, 100, 1);
    const SharedQueue queue = memory.view();
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      steps_to_go = step;
      step_hook = [](QueueStep) {
        if (--steps_to_go == 0) raise(SIGKILL);
      };
      WorkerSlot& slot = queue.slots[0];
      queue.acquire_processor(slot, always);
      queue.take(slot);
      queue.admit(slot, 80);
      queue.release(slot);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    const std::uint32_t held = queue.slots[0].task.load();
    const bool taken = queue.lane->cursor.load() == 1;
    EXPECT_TRUE(held == 7 || !taken) << held;
    queue.release(queue.slots[0]);
    EXPECT_EQ(queue.tokens_in_use(), 0U);
    EXPECT_EQ(queue.memory_in_use(), 0U);
    ASSERT_TRUE(queue.acquire_processor(queue.slots[1], always));
    EXPECT_EQ(queue.take(queue.slots[1]), taken ? 8U : 7U);
    if (WIFEXITED(status)) {
      EXPECT_EQ(step, 11);
      break;
    }
  }
}

}  // namespace
}  // namespace msrun
