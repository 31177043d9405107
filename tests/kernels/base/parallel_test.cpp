// Loops that several threads share: every piece once, whoever runs it, and the same bits as from one thread.
#include "kernels/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>

#include "kernels/base/start_threads.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;

// What a thread runs, of which there is memory or system for so many copies; each counts itself.
class ScarceBody {
 public:
  ScarceBody(int copies, bool lacks_memory)
      : left_(std::make_shared<int>(copies)),
        ran_(std::make_shared<std::atomic<int>>(0)),
        lacks_memory_(lacks_memory) {}
  ScarceBody(const ScarceBody& other) : left_(other.left_), ran_(other.ran_), lacks_memory_(other.lacks_memory_) {
    if ((*left_)-- > 0) return;
    if (lacks_memory_) throw std::bad_alloc();
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
  ScarceBody(ScarceBody&&) = default;
  ScarceBody& operator=(const ScarceBody&) = delete;
  ScarceBody& operator=(ScarceBody&&) = delete;
  ~ScarceBody() = default;

  void operator()() const { ++*ran_; }
  int ran() const { return *ran_; }

 private:
  std::shared_ptr<int> left_;
  std::shared_ptr<std::atomic<int>> ran_;
  bool lacks_memory_;
};

TEST(StartThreads, StartsAsManyAsThereIsRoomFor) {
  for (const bool lacks_memory : {false, true}) {
    for (const int copies : {0, 2, 9}) {
      const ScarceBody body(copies, lacks_memory);
      std::vector<std::thread> threads;
      const std::error_code error = start_threads(threads, 3, body);
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(threads.size(), static_cast<std::size_t>(std::min(copies, 3)));
      EXPECT_EQ(body.ran(), std::min(copies, 3));
      EXPECT_EQ(error, copies > 3 ? std::error_code()
                                  : std::make_error_code(lacks_memory ? std::errc::not_enough_memory
                                                                      : std::errc::resource_unavailable_try_again));
    }
  }
}

// Threads that help until the end of the scope.
class Helpers {
 public:
  explicit Helpers(int count) {
    HelpTerms terms;
    terms.done = [this] { return done_.load(); };
    terms.enter = [] { return true; };
    terms.leave = [] {};
    for (int i = 0; i < count; ++i) threads_.emplace_back([terms] { help_until(terms); });
    while (!help_is_near()) std::this_thread::yield();
  }
  ~Helpers() {
    done_ = true;
    wake_helpers();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::vector<std::thread> threads_;
};

TEST(Parallel, EveryPieceOnceOnSeveralThreads) {
  const Helpers helpers(3);
  std::vector<std::atomic<int>> runs(200);
  std::atomic<bool> elsewhere{false};
  const auto own = std::this_thread::get_id();
  int mark = 0;
  work_owner() = &mark;
  std::atomic<int> foreign_owner{0};
  run_pieces(200, [&](std::int64_t piece) {
    ++runs[static_cast<std::size_t>(piece)];
    if (std::this_thread::get_id() != own) elsewhere = true;
    if (work_owner() != &mark) ++foreign_owner;
    EXPECT_FALSE(help_is_near());
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  });
  work_owner() = nullptr;
  for (const auto& count : runs) EXPECT_EQ(count, 1);
  EXPECT_TRUE(elsewhere);
  EXPECT_EQ(foreign_owner, 0);
}

TEST(Parallel, WithoutHelpersOnTheCallingThread) {
  EXPECT_FALSE(help_is_near());
  std::vector<std::int64_t> order;
  run_pieces(5, [&](std::int64_t piece) { order.push_back(piece); });
  EXPECT_EQ(order, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST(Parallel, TheExceptionOfAPieceIsThrownByTheLoop) {
  const Helpers helpers(2);
  for (int round = 0; round < 50; ++round) {
    EXPECT_THROW(run_pieces(64,
                            [&](std::int64_t piece) {
                              if (piece == 17) throw std::runtime_error("piece 17");
                            }),
                 std::runtime_error);
  }
}

// Output and gradients of a call, as bytes.
std::string bits(const std::string& api, const List& args, const Dict& kwargs) {
  Tape tape;
  std::vector<Var> leaves;
  const Var result = call("Functional", api, args, kwargs, tape, leaves);
  tape.backward(result, uniform(result.shape(), -1, 1, 5));
  std::string all;
  const auto add = [&](const Tensor& tensor) {
    const std::vector<double> data = values(tensor);
    all.append(reinterpret_cast<const char*>(data.data()), data.size() * sizeof(double));
  };
  add(result.tensor());
  for (const Var& leaf : leaves) add(tape.gradient(leaf));
  return all;
}

TEST(Parallel, LargeCallsHaveTheSameBits) {
  struct Case {
    std::string api;
    List args;
    Dict kwargs;
  };
  const std::vector<Case> cases{
      {"linear", {uniform({300, 500}, -1, 1, 1), uniform({700, 500}, -1, 1, 2), uniform({700}, -1, 1, 3)}, {}},
      {"linear", {uniform({90, 1000}, -1, 1, 1), uniform({1500, 1000}, -1, 1, 2)}, {}},
      {"conv2d",
       {uniform({3, 20, 61, 59}, -1, 1, 1), uniform({40, 20, 3, 3}, -1, 1, 2)},
       {{"padding", std::int64_t{1}}}},
      {"conv2d",
       {uniform({2, 24, 80, 80}, -1, 1, 1), uniform({48, 24, 3, 3}, -1, 1, 2)},
       {{"stride", std::int64_t{2}}}},
      {"scaled_dot_product_attention",
       {uniform({1, 6, 200, 32}, -1, 1, 1), uniform({1, 6, 200, 32}, -1, 1, 2), uniform({1, 6, 200, 32}, -1, 1, 3)},
       {}},
  };
  for (const Case& c : cases) {
    const std::string alone = bits(c.api, c.args, c.kwargs);
    const Helpers helpers(3);
    for (int round = 0; round < 3; ++round) EXPECT_TRUE(alone == bits(c.api, c.args, c.kwargs)) << c.api;
  }
}

}  // namespace
}  // namespace msrun
