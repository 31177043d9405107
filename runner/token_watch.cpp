#include "runner/token_watch.h"

#include <pthread.h>

#include <chrono>

#include "kernels/base/clock.h"

namespace msrun {
namespace {

constexpr std::chrono::milliseconds interval(200);
// So long a call may be without a processor before its token is given back, and so much of one counts as none; seconds.
constexpr double patience = 1;
constexpr double least_use = 0.005;

}  // namespace

TokenWatch::TokenWatch(std::span<WorkerSlot> slots, std::vector<std::thread>& threads) {
  for (std::size_t i = 0; i < threads.size(); ++i) {
    Watched watched;
    watched.slot = &slots[i];
    if (pthread_getcpuclockid(threads[i].native_handle(), &watched.clock) == 0) watched_.push_back(watched);
  }
  thread_ = std::thread([this] { run(); });
}

TokenWatch::~TokenWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void TokenWatch::run() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, interval, [&] { return is_over_; })) {
    for (Watched& watched : watched_) look_at(watched);
  }
}

void TokenWatch::look_at(Watched& watched) {
  const std::uint64_t since = watched.slot->since.load();
  timespec time{};
  // Waiting for a token, for memory and for the supervisor is nobody's call; the clock of a thread that has ended
  // fails.
  if (since == 0 || watched.slot->computing.load() == 0 || clock_gettime(watched.clock, &time) != 0) {
    watched.since = 0;
    return;
  }
  const double used = static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  const double now = steady_seconds();
  if (since != watched.since || used - watched.used > least_use) {
    watched.since = since;
    watched.used = used;
    watched.still_from = now;
  } else if (now - watched.still_from > patience) {
    watched.slot->computing.store(0);
  }
}

}  // namespace msrun
