// Each test has a process of its own, because a process has one pool.
#include "kernels/tensor/storage_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/tensor/memory.h"
#include "kernels/tensor/tensor.h"
#include "tests/support/sanitized.h"

namespace msrun {
namespace {

constexpr std::uint64_t MiB = 1 << 20;

// Runs the body in a child of this process, where what it expects counts.
void in_a_process(const std::function<void()>& body) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    body();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Whether this build has a pool: under a sanitizer it has none.
bool has_pool() { return storage_pool_state().fresh > 0; }

std::uint64_t resident() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t pages = 0;
  file >> all >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

Tensor written(std::int64_t bytes, int value) {
  Tensor tensor(DType::uint8, {bytes});
  std::memset(tensor.mutable_data<std::byte>(), value, tensor.bytes());
  return tensor;
}

// Takes what malloc has left, down to the smallest piece, after which no list can grow.
void use_up_memory() {
  // The stack cannot grow either from then on: it does now.
  std::array<char, std::size_t{1} << 17> deep;
  std::memset(deep.data(), 1, deep.size());
  EXPECT_NE(*static_cast<volatile char*>(deep.data()), 0);
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  for (std::size_t size = std::size_t{1} << 30; size >= 8; size /= 2) {
    while (std::malloc(size) != nullptr) {
    }
  }
}

TEST(StoragePool, GivesBackWhatItCanWithoutMemoryForItsLists) {
  if (testing::sanitized) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  in_a_process([] {
    use_storage_pool({.limit = 256 * MiB});
    void* const first = take_storage(40 * MiB);
    std::memset(first, 1, 40 * MiB);
    give_storage(first, 40 * MiB);
    const std::uint64_t kept = storage_pool_state().kept;
    ASSERT_GE(kept, 40 * MiB);
    use_up_memory();
    give_back_storage(40 * MiB);
    give_back_idle_storage();
    give_back_idle_storage();
    // Neither lost nor said to be given back.
    EXPECT_EQ(storage_pool_state().kept, kept);
    EXPECT_EQ(storage_pool_state().used, 0U);
    void* const again = take_storage(20 * MiB);
    EXPECT_EQ(storage_pool_state().used, again == nullptr ? 0U : 20 * MiB);
  });
}

TEST(StoragePool, HandsOutAgainWhatWasFreed) {
  in_a_process([] {
    use_storage_pool({.limit = 256 * MiB});
    { const Tensor first = written(40 * MiB, 1); }
    if (!has_pool()) return;
    const std::uint64_t fresh = storage_pool_state().fresh;
    for (int i = 0; i < 50; ++i) {
      const Tensor large = written(20 * MiB, i);
      const Tensor small = written(18 * MiB, i + 1);
    }
    EXPECT_EQ(storage_pool_state().fresh, fresh);
    EXPECT_EQ(storage_pool_state().used, 0U);
  });
}

// Blocks of many sizes that come and go in any order never overlap, and what is kept makes the process no larger than
// the limit says.
TEST(StoragePool, StaysWithinItsLimit) {
  in_a_process([] {
    constexpr std::uint64_t limit = 128 * MiB;
    const std::uint64_t before = resident();
    use_storage_pool({.limit = limit});
    std::mt19937 random(1);
    struct Held {
      Tensor tensor;
      std::uint8_t value;
    };
    std::vector<Held> held;
    std::uint64_t bytes = 0;
    for (int i = 0; i < 4000; ++i) {
      const std::uint64_t size = std::uint64_t{1} << (14 + random() % 11);
      if (!held.empty() && (bytes + 2 * size > limit / 2 || random() % 2 == 0)) {
        std::swap(held[random() % held.size()], held.back());
        const Held& last = held.back();
        const auto* from = last.tensor.data<std::uint8_t>();
        const std::int64_t count = last.tensor.numel();
        ASSERT_EQ(from[0], last.value);
        ASSERT_EQ(from[count / 2], last.value);
        ASSERT_EQ(from[count - 1], last.value);
        bytes -= last.tensor.bytes();
        held.pop_back();
      } else {
        const auto value = static_cast<std::uint8_t>(random());
        held.push_back({written(static_cast<std::int64_t>(size + random() % size), value), value});
        bytes += held.back().tensor.bytes();
      }
      const StoragePoolState state = storage_pool_state();
      ASSERT_LE(state.used + state.kept, limit);
    }
    // Without the pool, what a sanitizer keeps of freed memory is beyond any limit of ours.
    if (has_pool()) {
      EXPECT_LE(resident(), before + limit + 32 * MiB);
    }
  });
}

// Two gaps do not hold what one of their size would: their memory is given back when the range must grow.
TEST(StoragePool, GrowsInPlaceOfWhatItKeeps) {
  in_a_process([] {
    use_storage_pool({.limit = 512 * MiB});
    std::vector<Tensor> tensors;
    for (const std::uint64_t size : {30 * MiB, 18 * MiB, 30 * MiB, 18 * MiB})
      tensors.push_back(written(static_cast<std::int64_t>(size), 1));
    tensors[0] = {};
    tensors[2] = {};
    const Tensor larger = written(50 * MiB, 2);
    const StoragePoolState state = storage_pool_state();
    EXPECT_LE(state.used + state.kept, 112 * MiB);
    EXPECT_EQ(tensors[1].data<std::uint8_t>()[18 * MiB - 1], 1);
    EXPECT_EQ(tensors[3].data<std::uint8_t>()[18 * MiB - 1], 1);
  });
}

// A free range whose beginning was given back and whose end was not: a block at its beginning leaves all that is kept.
TEST(StoragePool, KnowsWhereInAFreeRangeItsMemoryLies) {
  in_a_process([] {
    use_storage_pool({.limit = 128 * MiB});
    std::vector<Tensor> tensors;
    for (int i = 0; i < 3; ++i) tensors.push_back(written(32 * MiB, 1));
    if (!has_pool()) return;
    tensors[0] = {};
    give_back_storage(32 * MiB);
    tensors[1] = {};
    const std::uint64_t before = resident();
    tensors[0] = written(32 * MiB, 2);
    EXPECT_GE(storage_pool_state().kept, 30 * MiB);
    // It needs what is kept there to stay within the limit.
    tensors[1] = written(64 * MiB, 3);
    EXPECT_LE(storage_pool_state().kept, 4 * MiB);
    EXPECT_LE(resident(), before + 70 * MiB);
  });
}

// What a large tensor has left is there for the next one, although small ones were made meanwhile.
TEST(StoragePool, KeepsSmallBlocksOutOfWhatLargeOnesLeave) {
  in_a_process([] {
    use_storage_pool({.limit = 512 * MiB});
    Tensor large = written(100 * MiB, 1);
    const Tensor behind = written(20 * MiB, 1);
    if (!has_pool()) return;
    large = {};
    const Tensor small = written(MiB, 2);
    const std::uint64_t fresh = storage_pool_state().fresh;
    const Tensor again = written(100 * MiB, 3);
    EXPECT_LE(storage_pool_state().fresh, fresh + 4 * MiB);
    EXPECT_EQ(small.data<std::uint8_t>()[MiB - 1], 2);
  });
}

TEST(StoragePool, GivesBackWhatIsIdle) {
  in_a_process([] {
    use_storage_pool({.limit = 256 * MiB});
    { const Tensor large = written(100 * MiB, 1); }
    if (!has_pool()) return;
    const std::uint64_t with = resident();
    give_back_idle_storage();
    EXPECT_GE(storage_pool_state().kept, 90 * MiB) << "it was in use since the last time";
    give_back_idle_storage();
    EXPECT_LE(storage_pool_state().kept, 4 * MiB);
    EXPECT_LE(resident() + 90 * MiB, with);
    const Tensor again = written(100 * MiB, 2);
    EXPECT_EQ(again.data<std::uint8_t>()[100 * MiB - 1], 2);
  });
}

TEST(StoragePool, GivesBackWhatOthersNeed) {
  in_a_process([] {
    use_storage_pool({.limit = 256 * MiB});
    {
      const Tensor first = written(50 * MiB, 1);
      const Tensor second = written(50 * MiB, 1);
    }
    if (!has_pool()) return;
    const std::uint64_t with = resident();
    give_back_storage(30 * MiB);
    EXPECT_LE(storage_pool_state().kept, 75 * MiB);
    EXPECT_LE(resident() + 30 * MiB, with + 4 * MiB);
    give_back_storage(1 << 30);
    EXPECT_LE(storage_pool_state().kept, 4 * MiB);
  });
}

// What the pool keeps is nobody's: the account of a call is that of its tensors.
TEST(StoragePool, LeavesTheAccountOfACallExact) {
  const auto peak = [] {
    const TensorMemoryScope scope(64 * MiB);
    for (int i = 0; i < 10; ++i) {
      const Tensor a = written(20 * MiB, 1);
      const Tensor b = written(30 * MiB, 2);
      EXPECT_THROW(written(20 * MiB, 3), SkipError);
    }
    return scope.peak();
  };
  const std::uint64_t without = peak();
  in_a_process([&] {
    use_storage_pool({.limit = 256 * MiB});
    EXPECT_EQ(peak(), without);
    EXPECT_EQ(peak(), without);
  });
}

TEST(StoragePool, FillsWhatItHandsOutIfAsked) {
  in_a_process([] {
    use_storage_pool({.limit = 64 * MiB, .poison = true});
    for (const std::int64_t size : {std::int64_t{100}, std::int64_t{5} << 20}) {
      { const Tensor stale = written(size, 7); }
      const Tensor again(DType::uint8, {size});
      EXPECT_EQ(again.data<std::uint8_t>()[0], 0xff);
      EXPECT_EQ(again.data<std::uint8_t>()[size - 1], 0xff);
    }
  });
}

TEST(StoragePool, TakesNoAddressesWhereTheyAreLimited) {
  if (testing::sanitized)
    GTEST_SKIP() << "a sanitizer has more addresses already, and ends the process when it gets no more";
  in_a_process([] {
    const rlimit limit{rlim_t{4} << 30, rlim_t{4} << 30};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    use_storage_pool({.limit = std::uint64_t{1} << 40});
    const Tensor tensor = written(10 * MiB, 1);
    EXPECT_EQ(storage_pool_state().fresh, 0U);
    EXPECT_EQ(tensor.data<std::uint8_t>()[10 * MiB - 1], 1);
  });
}

TEST(StoragePool, ServesThreadsAndForkedChildren) {
  in_a_process([] {
    use_storage_pool({.limit = 512 * MiB});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < 200; ++i) {
          const Tensor tensor = written((1 + i % 3) * 300'000, t);
          const auto* from = tensor.data<std::uint8_t>();
          EXPECT_TRUE(from[0] == t && from[tensor.numel() - 1] == t);
        }
      });
    }
    for (int i = 0; i < 20; ++i) in_a_process([] { written(2 * MiB, 1); });
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace
}  // namespace msrun
