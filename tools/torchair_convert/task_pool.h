// Threads that wait for the disk. Syncs of many files that are asked for at the same time are done by the kernel and
// the device together, so that they take little longer than one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace msrun::convert {

// How long the tasks of one kind take, so that quick ones are not handed to other threads.
class Pace {
 public:
  bool quick() const;
  void add(double seconds);

 private:
  std::atomic<double> mean_{0};  // seconds, of the last dozen or so
};

class TaskPool {
 public:
  // Fewer threads if the system allows no more; none is enough.
  explicit TaskPool(std::size_t threads);
  ~TaskPool();
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  // Calls run(i) for every i below count and returns when all are done. The calling thread does them itself as long as
  // their pace is quick; the others take part when it is not. run must not throw.
  void for_each(std::size_t count, Pace& pace, const std::function<void(std::size_t)>& run);

 private:
  struct Work {
    const std::function<void(std::size_t)>& run;
    Pace& pace;
    std::size_t next;
    std::size_t end;
    std::size_t running = 0;
  };

  void help();
  // Takes the next piece of work; false if there is none.
  bool take(Work& work, std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable more_;
  std::condition_variable finished_;
  std::list<Work*> open_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace msrun::convert
