#include "tools/torchair_convert/workers.h"

#include <algorithm>
#include <exception>
#include <string>
#include <system_error>

#include "kernels/base/error.h"
#include "kernels/base/start_threads.h"

namespace msrun::convert {
namespace {

// A batch shares its syncs, which makes small files cheap; it ends early when its files are large, so that all threads
// have something to do.
constexpr std::size_t most_files_per_batch = 256;
constexpr std::size_t few_files_per_batch = 8;  // rather than fewer, fewer threads
constexpr std::uint64_t bytes_per_batch = std::uint64_t{32} << 20;
constexpr std::size_t buffer_bytes = std::size_t{512} << 10;  // stays in the second-level cache
constexpr std::size_t waiting_for_disk = 32;

}  // namespace

WorkPlan plan_work(int workers, std::uint64_t descriptors) {
  constexpr std::uint64_t of_a_file = 3;    // directory, source, target
  constexpr std::uint64_t of_program = 96;  // standard streams, lock, the directories on the way down the tree
  WorkPlan plan;
  // While one batch waits for the disk, another is computed.
  for (plan.threads = 2 * static_cast<std::size_t>(workers);; plan.threads /= 2) {
    // Every thread that syncs reads one file back. One batch more than threads waits: that which is being filled.
    const std::uint64_t others = of_program + waiting_for_disk + plan.threads;
    const std::uint64_t for_files = descriptors > others ? descriptors - others : 0;
    const std::uint64_t fits = for_files / (of_a_file * plan.threads + plan.threads + 1);
    plan.files_per_batch = std::clamp<std::uint64_t>(fits, 1, most_files_per_batch);
    if (fits >= few_files_per_batch || plan.threads == 1) return plan;
  }
}

Workers::Workers(Statistics statistics, const WorkPlan& plan, const std::atomic<bool>& stop)
    : plan_(plan), pool_(waiting_for_disk), replacer_(statistics, pool_, stop) {
  const std::error_code error = start_threads(threads_, plan.threads, [this] { work(); });
  if (threads_.empty()) throw UserError("No thread can be started: " + error.message() + ".");
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
  if (next_.size() < plan_.files_per_batch && next_bytes_ < bytes_per_batch) return;
  changed_.wait(lock, [&] { return waiting_.size() < plan_.threads; });
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
