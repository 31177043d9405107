#include "tools/torchair_convert/task_pool.h"

#include <algorithm>

#include "kernels/base/clock.h"
#include "kernels/base/start_threads.h"

namespace msrun::convert {
namespace {

constexpr double quick_task = 100e-6;  // seconds; handing it to another thread costs about a tenth of that
constexpr double share_of_last = 0.125;

void timed(const std::function<void(std::size_t)>& run, std::size_t i, Pace& pace) {
  const double begin = steady_seconds();
  run(i);
  pace.add(steady_seconds() - begin);
}

}  // namespace

bool Pace::quick() const { return mean_ < quick_task; }

// Two threads that add at the same time may lose one of their tasks, which does no harm. A thread that lost the
// processor for a while says nothing about the task, so that outliers count no more than ten quick tasks.
void Pace::add(double seconds) {
  const double mean = mean_;
  mean_ = mean + share_of_last * (std::min(seconds, std::max(10 * mean, 5 * quick_task)) - mean);
}

TaskPool::TaskPool(std::size_t threads) {
  // The threads that call for_each do what is left.
  start_threads(threads_, threads, [this] { help(); });
}

TaskPool::~TaskPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  more_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void TaskPool::for_each(std::size_t count, Pace& pace, const std::function<void(std::size_t)>& run) {
  std::size_t done = 0;
  while (done < count && pace.quick()) timed(run, done++, pace);
  if (done == count) return;
  Work work{run, pace, done, count};
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
  timed(work.run, i, work.pace);
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
