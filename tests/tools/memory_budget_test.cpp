// Memory that threads share: nobody takes more than there is, and nobody waits forever.
#include "tools/common/memory_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

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

TEST(MemoryBudget, TheUsualOneHasRoomForSmallFiles) {
  MemoryBudget budget;
  const MemoryBudget::Share one = budget.take(1 << 20);
  const MemoryBudget::Share other = budget.take(1 << 20);
  const MemoryBudget::Share nothing = budget.take(0);
}

}  // namespace
}  // namespace msrun
