#include "tools/torchair_convert/task_pool.h"

#include <algorithm>
#include <chrono>

namespace msrun::convert {
namespace {

// Handing a task to another thread costs about a tenth of this.
constexpr std::chrono::microseconds quick{100};

}  // namespace

TaskPool::TaskPool(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { help(); });
}

TaskPool::~TaskPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  more_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void TaskPool::for_each(std::size_t count, const std::function<void(std::size_t)>& run) {
  std::size_t done = 0;
  while (done < count) {
    const auto begin = std::chrono::steady_clock::now();
    run(done++);
    if (std::chrono::steady_clock::now() - begin > quick) break;
  }
  if (done == count) return;
  Work work{&run, done, count};
  std::unique_lock lock(mutex_);
  open_.push_back(&work);
  more_.notify_all();
  while (take(work, lock)) {
  }
  finished_.wait(lock, [&] { return work.running == 0; });
}

bool TaskPool::take(Work& work, std::unique_lock<std::mutex>& lock) {
  if (work.next == work.end) return false;
  const std::size_t i = work.next++;
  if (work.next == work.end) open_.remove(&work);
  ++work.running;
  lock.unlock();
  (*work.run)(i);
  lock.lock();
  if (--work.running == 0 && work.next == work.end) finished_.notify_all();
  return true;
}

void TaskPool::help() {
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [&] { return ending_ || !open_.empty(); });
    if (open_.empty()) return;
    take(*open_.front(), lock);
  }
}

}  // namespace msrun::convert
