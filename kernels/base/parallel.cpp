#include "kernels/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <vector>

namespace msrun {
namespace {

thread_local void* owner_of_work = nullptr;
thread_local bool at_a_piece = false;

// One loop, on the stack of the thread that runs it.
struct Loop {
  const std::function<void(std::int64_t)>* run = nullptr;
  std::int64_t pieces = 0;
  std::atomic<std::int64_t> next{0};
  void* owner = nullptr;
  int helpers = 0;  // guarded by Exchange::mutex, as is what follows
  std::exception_ptr problem;
};

// Where loops and helpers meet.
struct Exchange {
  std::mutex mutex;
  std::condition_variable offered;   // there is a new loop, or done() may have changed
  std::condition_variable finished;  // a helper has left a loop
  std::vector<Loop*> loops;
  std::atomic<int> waiting{0};
};

Exchange& exchange() {
  static Exchange instance;
  return instance;
}

void run_share(Loop& loop) {
  void* const own = owner_of_work;
  owner_of_work = loop.owner;
  at_a_piece = true;
  try {
    for (std::int64_t i = loop.next.fetch_add(1); i < loop.pieces; i = loop.next.fetch_add(1)) (*loop.run)(i);
  } catch (...) {
    loop.next.store(loop.pieces);
    const std::lock_guard lock(exchange().mutex);
    if (!loop.problem) loop.problem = std::current_exception();
  }
  at_a_piece = false;
  owner_of_work = own;
}

// A loop with pieces left; call with the mutex held.
Loop* open_loop(Exchange& meeting) {
  for (Loop* loop : meeting.loops) {
    if (loop->next.load() < loop->pieces) return loop;
  }
  return nullptr;
}

}  // namespace

bool help_is_near() { return !at_a_piece && exchange().waiting.load(std::memory_order_relaxed) > 0; }

void run_pieces(std::int64_t pieces, const std::function<void(std::int64_t)>& run) {
  if (pieces < 2 || !help_is_near()) {
    for (std::int64_t i = 0; i < pieces; ++i) run(i);
    return;
  }
  Exchange& meeting = exchange();
  Loop loop;
  loop.run = &run;
  loop.pieces = pieces;
  loop.owner = owner_of_work;
  {
    const std::lock_guard lock(meeting.mutex);
    meeting.loops.push_back(&loop);
  }
  meeting.offered.notify_all();
  run_share(loop);
  std::unique_lock lock(meeting.mutex);
  std::erase(meeting.loops, &loop);
  meeting.finished.wait(lock, [&] { return loop.helpers == 0; });
  if (loop.problem) std::rethrow_exception(loop.problem);
}

void*& work_owner() { return owner_of_work; }

void help_until(const HelpTerms& terms) {
  Exchange& meeting = exchange();
  while (true) {
    {
      std::unique_lock lock(meeting.mutex);
      ++meeting.waiting;
      meeting.offered.wait(lock, [&] { return terms.done() || open_loop(meeting) != nullptr; });
      --meeting.waiting;
      if (terms.done()) return;
    }
    if (!terms.enter()) return;
    Loop* loop = nullptr;
    {
      const std::lock_guard lock(meeting.mutex);
      loop = open_loop(meeting);
      if (loop != nullptr) ++loop->helpers;
    }
    if (loop != nullptr) {
      run_share(*loop);
      const std::lock_guard lock(meeting.mutex);
      --loop->helpers;
      meeting.finished.notify_all();
    }
    terms.leave();
  }
}

void wake_helpers() {
  // The lock keeps a helper from missing the change between its test and its wait.
  { const std::lock_guard lock(exchange().mutex); }
  exchange().offered.notify_all();
}

}  // namespace msrun
