#include "tools/graph/tasks.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/base/start_threads.h"

namespace msrun::graph {
namespace {

// As many threads more as are wanted and to be had: the calling one, which takes part, does what the others do not.
template <class Work>
std::vector<std::jthread> started(std::size_t count, const Work& work) {
  std::vector<std::jthread> threads;
  start_threads(threads, count, work);
  return threads;
}

std::size_t helpers_of(std::size_t threads, std::size_t count) {
  const std::size_t useful = std::min(threads, count);
  return useful > 0 ? useful - 1 : 0;
}

class OrderedRun {
 public:
  OrderedRun(std::size_t count, std::size_t places, const OrderedSteps& work)
      : count_(count), work_(work), made_(places, false) {}

  void run(std::size_t threads) {
    {
      const std::vector<std::jthread> helpers = started(helpers_of(threads, count_), [this] { help(); });
      lead();
    }
    if (problem_) std::rethrow_exception(problem_);
  }

 private:
  bool is_over() const { return problem_ || taken_ == count_; }
  bool may_make() const { return next_ < count_ && next_ < taken_ + made_.size(); }
  bool may_take() const { return taken_ < count_ && made_[taken_ % made_.size()]; }

  void help() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_over() || next_ == count_ || may_make(); });
      if (is_over() || next_ == count_) return;
      make(lock);
    }
  }

  void lead() {
    std::unique_lock lock(mutex_);
    while (!is_over()) {
      if (may_take()) {
        take(lock);
      } else if (may_make()) {
        make(lock);
      } else {
        changed_.wait(lock, [this] { return is_over() || may_take(); });
      }
    }
  }

  void make(std::unique_lock<std::mutex>& lock) {
    const std::size_t number = next_++;
    if (step(lock, work_.make, number)) made_[number % made_.size()] = true;
    changed_.notify_all();
  }

  void take(std::unique_lock<std::mutex>& lock) {
    if (step(lock, work_.take, taken_)) {
      made_[taken_ % made_.size()] = false;
      ++taken_;
    }
    changed_.notify_all();
  }

  // Unlocked while it lasts. Whether it ended as it should.
  bool step(std::unique_lock<std::mutex>& lock, const OrderedSteps::Step& work, std::size_t number) {
    std::exception_ptr problem;
    lock.unlock();
    try {
      work(number, number % made_.size());
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    if (problem && !problem_) problem_ = problem;
    return !problem;
  }

  const std::size_t count_;
  const OrderedSteps& work_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::vector<bool> made_;  // of pieces that wait to be taken, by their places
  std::size_t next_ = 0;    // to be made
  std::size_t taken_ = 0;
  std::exception_ptr problem_;
};

}  // namespace

void for_each_task(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr problem;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!problem) problem = std::current_exception();
        next = count;
      }
    }
  };
  {
    const std::vector<std::jthread> helpers = started(helpers_of(threads, count), take);
    take();
  }
  if (problem) std::rethrow_exception(problem);
}

void for_each_in_order(std::size_t count, std::size_t threads, std::size_t places, const OrderedSteps& work) {
  OrderedRun(count, places, work).run(threads);
}

}  // namespace msrun::graph
