// Memory that threads share: nobody takes more than there is, and nobody waits forever.
#include "tools/common/memory_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "tests/support/msrun_process.h"

namespace msrun {
namespace {

TEST(MemoryBudget, IsNeverExceededByThreadsThatShareIt) {
  MemoryBudget budget(100);
  std::atomic<int> held{0};
  std::atomic<int> most{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 200; ++i) {
          const int bytes = 10 + (t * 7 + i * 13) % 60;
          const MemoryBudget::Share share = budget.take(static_cast<std::uint64_t>(bytes));
          const int now = held += bytes;
          int before = most;
          while (before < now && !most.compare_exchange_weak(before, now)) {
          }
          std::this_thread::yield();
          held -= bytes;
        }
      });
    }
  }
  EXPECT_LE(most, 100);
  EXPECT_GT(most, 0);
}

TEST(MemoryBudget, WhatNeverFitsIsAlone) {
  MemoryBudget budget(100);
  std::atomic<int> held{0};
  std::atomic<bool> alone{true};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          const MemoryBudget::Share share = budget.take(1000);
          alone = alone && ++held == 1;
          std::this_thread::yield();
          --held;
        }
      });
    }
  }
  EXPECT_TRUE(alone);
}

// Each thread holds its share until the others have theirs.
TEST(MemoryBudget, TheUsualOneHasRoomForSmallFiles) {
  MemoryBudget budget;
  std::latch all(3);
  std::atomic<int> met{0};
  {
    std::vector<std::jthread> threads;
    for (const std::uint64_t bytes : {1 << 20, 1 << 20, 0}) {
      threads.emplace_back([&, bytes] {
        const MemoryBudget::Share share = budget.take(bytes);
        all.count_down();
        if (testing::eventually(60, [&] { return all.try_wait(); })) ++met;
      });
    }
  }
  EXPECT_EQ(met, 3);
}

}  // namespace
}  // namespace msrun
