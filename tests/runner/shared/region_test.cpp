// Rings, queue and admission, across threads and across fork.
#include "runner/shared/region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <set>
#include <thread>

#include "runner/runner.h"

namespace msrun {
namespace {

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
      std::uint32_t task = 0;
      std::uint64_t sum = 0;
      while (queue.take(task)) sum += task + 1;
      queue.slots[process].memory.store(sum);
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
  std::uint32_t task = 0;
  ASSERT_TRUE(queue.take(task));
  EXPECT_EQ(task, 4U);
  queue.control->stop.store(1);
  EXPECT_FALSE(queue.take(task));
  EXPECT_EQ(queue.control->cursor.load(), 1U);
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
  EXPECT_EQ(queue.control->memory_in_use.load(), 60U);
  EXPECT_TRUE(queue.admit(queue.slots[0], 40));
  queue.release(queue.slots[0]);
  queue.release(queue.slots[1]);
  EXPECT_EQ(queue.control->memory_in_use.load(), 0U);
}

TEST(SharedQueue, ProcessorTokensAreLimitedAndGivenBack) {
  const QueueMemory memory(std::vector<std::uint32_t>{}, 2, 100, 1);
  const SharedQueue queue = memory.view();
  ASSERT_TRUE(queue.acquire_processor(queue.slots[0]));
  std::thread waiting([&] { queue.acquire_processor(queue.slots[1]); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(queue.control->computing.load(), 1U);
  EXPECT_EQ(queue.slots[1].computing.load(), 0U);
  queue.release(queue.slots[0]);
  waiting.join();
  EXPECT_EQ(queue.slots[1].computing.load(), 1U);
  queue.release(queue.slots[1]);
  queue.release(queue.slots[1]);
  EXPECT_EQ(queue.control->computing.load(), 0U);
}

}  // namespace
}  // namespace msrun
