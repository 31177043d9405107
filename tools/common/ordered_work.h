// Threads that work on items side by side while their results are taken in the order of the items. How far they may run
// ahead of the oldest unfinished item is bounded, and with it the memory of items and results that wait.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/base/start_threads.h"

namespace msrun {

template <class Item, class Result>
class OrderedWork {
 public:
  using Work = std::function<Result(const Item&)>;

  // make_work is called once by each thread; what it returns is used by that thread only. take gets the results, one
  // call at a time. Fewer threads if the system allows no more; if it allows none, whoever adds an item works on it.
  OrderedWork(std::size_t threads, std::size_t window, const std::function<Work()>& make_work,
              std::function<void(Result&&)> take)
      : window_(window), take_(std::move(take)) {
    start_threads(threads_, threads, [this, make_work] { work(make_work); });
    if (threads_.empty()) own_ = make_work();
  }
  OrderedWork(const OrderedWork&) = delete;
  OrderedWork& operator=(const OrderedWork&) = delete;
  ~OrderedWork() {
    stop();
    join();
  }

  // Waits while too much is under way. Throws what an item threw.
  void add(Item item) {
    if (own_) return take_(own_(item));
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return slots_.size() < window_ || error_; });
    if (error_) std::rethrow_exception(error_);
    slots_.push_back({std::move(item), std::nullopt});
    work_.notify_one();
  }

  // Waits until all results were taken. Throws what an item threw.
  void finish() {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return slots_.empty() || error_; });
    if (error_) std::rethrow_exception(error_);
  }

 private:
  struct Slot {
    Item item;
    std::optional<Result> result;
  };

  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    work_.notify_all();
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
  }

  void work(const std::function<Work()>& make_work) {
    try {
      const Work run = make_work();
      std::unique_lock lock(mutex_);
      while (true) {
        work_.wait(lock, [&] { return stopped_ || error_ || next_ < first_ + slots_.size(); });
        if (stopped_ || error_) return;
        const std::size_t number = next_++;
        // References to elements of a deque stay valid while others come and go at its ends.
        Slot& slot = slots_[number - first_];
        lock.unlock();
        Result result = run(slot.item);
        lock.lock();
        slot.result = std::move(result);
        bool moved = false;
        while (!slots_.empty() && slots_.front().result && !error_) {
          take_(std::move(*slots_.front().result));
          slots_.pop_front();
          ++first_;
          moved = true;
        }
        if (moved) room_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      room_.notify_all();
      work_.notify_all();
    }
  }

  const std::size_t window_;
  const std::function<void(Result&&)> take_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable room_;
  std::deque<Slot> slots_;  // items that are not taken yet, oldest first
  std::size_t first_ = 0;   // number of slots_.front()
  std::size_t next_ = 0;    // number of the next item to be started
  bool stopped_ = false;
  std::exception_ptr error_;
  Work own_;  // where there is no thread
  std::vector<std::thread> threads_;
};

}  // namespace msrun
