#include "tools/torchair_convert/workers.h"

#include <exception>
#include <string>
#include <system_error>

#include "kernels/base/error.h"

namespace msrun::convert {
namespace {

// A batch shares its syncs, which makes small files cheap; it ends early when its files are large, so that all threads
// have something to do.
constexpr std::size_t files_per_batch = 256;
constexpr std::uint64_t bytes_per_batch = std::uint64_t{32} << 20;
constexpr std::size_t buffer_bytes = std::size_t{512} << 10;  // stays in the second-level cache
constexpr std::size_t waiting_for_disk = 32;

}  // namespace

Workers::Workers(Statistics statistics, int count, const std::atomic<bool>& stop)
    : most_waiting_(static_cast<std::size_t>(count) * 2), pool_(waiting_for_disk), replacer_(statistics, pool_, stop) {
  // While one batch waits for the disk, another is computed.
  const std::size_t wanted = 2 * static_cast<std::size_t>(count);
  threads_.reserve(wanted);
  try {
    while (threads_.size() < wanted) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    if (threads_.empty()) throw UserError("No thread can be started: " + error.code().message() + ".");
  }
}

Workers::~Workers() {
  {
    std::unique_lock lock(mutex_);
    if (!next_.empty()) push(lock);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::put(Candidate candidate) {
  std::unique_lock lock(mutex_);
  next_bytes_ += candidate.state.size;
  next_.push_back(std::move(candidate));
  if (next_.size() < files_per_batch && next_bytes_ < bytes_per_batch) return;
  changed_.wait(lock, [&] { return waiting_.size() < most_waiting_; });
  push(lock);
}

void Workers::flush() {
  std::unique_lock lock(mutex_);
  if (!next_.empty()) push(lock);
}

void Workers::push(std::unique_lock<std::mutex>&) {
  waiting_.push_back(std::move(next_));
  next_ = {};
  next_bytes_ = 0;
  changed_.notify_all();
}

void Workers::finish() {
  flush();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.empty() && working_ == 0; });
}

std::vector<Converted> Workers::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(done_, {});
}

void Workers::work() {
  std::vector<std::byte> buffer(buffer_bytes);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const Batch batch = std::move(waiting_.front());
    waiting_.pop_front();
    ++working_;
    changed_.notify_all();
    lock.unlock();
    std::vector<Result> results;
    try {
      results = replacer_.replace(batch, buffer);
    } catch (const std::exception& error) {
      // Out of memory, for example. The files are as they were, or converted.
      results.assign(batch.size(), {Outcome::failed, std::string("Converting failed: ") + error.what() + ".", {}, 0});
    }
    lock.lock();
    for (std::size_t i = 0; i < batch.size(); ++i) done_.emplace_back(batch[i], std::move(results[i]));
    --working_;
    changed_.notify_all();
  }
}

}  // namespace msrun::convert
