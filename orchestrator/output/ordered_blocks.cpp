#include "orchestrator/output/ordered_blocks.h"

#include <algorithm>
#include <utility>

#include "kernels/base/start_threads.h"

namespace msrun {

OrderedBlocks::OrderedBlocks(std::size_t count, unsigned threads, Make make) : count_(count), make_(std::move(make)) {
  const std::size_t useful = std::min<std::size_t>(threads, count);
  if (useful < 2) return;
  ahead_ = 2 * useful;
  start_threads(threads_, useful, [this] { work(); });
}

OrderedBlocks::~OrderedBlocks() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void OrderedBlocks::take_all(const std::function<void(const RowBlock& block)>& take) {
  RowBlock block;
  for (; taken_ < count_;) {
    if (threads_.empty()) {
      block.details.clear();
      block.result.clear();
      make_(taken_, block);
    } else {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return failure_ || made_.contains(taken_); });
      if (failure_) std::rethrow_exception(failure_);
      block = std::move(made_.extract(taken_).mapped());
    }
    take(block);
    const std::lock_guard lock(mutex_);
    ++taken_;
    if (!threads_.empty()) used_.push_back(std::exchange(block, {}));
    changed_.notify_all();
  }
}

void OrderedBlocks::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || failure_ || next_ == count_ || next_ < taken_ + ahead_; });
    if (ends_ || failure_ || next_ == count_) return;
    const std::size_t number = next_++;
    RowBlock block;
    if (!used_.empty()) {
      block = std::move(used_.back());
      used_.pop_back();
    }
    lock.unlock();
    std::exception_ptr failure;
    try {
      block.details.clear();
      block.result.clear();
      make_(number, block);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) failure_ = failure;
    made_.emplace(number, std::move(block));
    changed_.notify_all();
  }
}

}  // namespace msrun
