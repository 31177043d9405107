#include "orchestrator/merge/record_batches.h"

#include <utility>

#include "runner/results/bytes.h"

namespace msrun {
namespace {

constexpr std::size_t records_of_a_batch = 256;
constexpr std::size_t most_waiting = 16;  // batches

// Thrown through the reading of a journal whose records nobody takes any more.
struct Ended {};

}  // namespace

void RecordBatch::add(Record&& record, std::string_view bytes) {
  records_.push_back(std::move(record));
  bytes_ += bytes;
  ends_.push_back(bytes_.size());
}

void RecordBatch::take(const Visit& visit) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    visit(std::move(records_[i]), std::string_view(bytes_).substr(begin, ends_[i] - begin));
    begin = ends_[i];
  }
  records_.clear();
}

RecordBatches::RecordBatches(std::vector<std::string> paths)
    : paths_(std::move(paths)), reader_([this] { read_all(); }) {}

RecordBatches::~RecordBatches() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  reader_.join();
}

RecordBatch RecordBatches::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !waiting_.empty(); });
  RecordBatch batch = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  changed_.notify_all();
  if (batch.failure) std::rethrow_exception(batch.failure);
  return batch;
}

void RecordBatches::read_all() {
  try {
    for (const std::string& path : paths_) read(path);
  } catch (const Ended&) {
    // As it was asked to.
  } catch (...) {
    RecordBatch batch;
    batch.failure = std::current_exception();
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(batch));
    changed_.notify_all();
  }
}

void RecordBatches::read(const std::string& path) {
  RecordBatch batch;
  std::uint64_t unreadable = 0;
  journal::Recovery recovery = journal::read(path, [&](std::string_view bytes) {
    try {
      batch.add(decode_record(bytes), bytes);
    } catch (const RecordError&) {
      ++unreadable;
      return;
    }
    if (batch.size() == records_of_a_batch) push(std::exchange(batch, {}));
  });
  batch.is_last = true;
  batch.recovery = std::move(recovery);
  batch.unreadable = unreadable;
  push(std::move(batch));
}

void RecordBatches::push(RecordBatch&& batch) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ends_ || waiting_.size() < most_waiting; });
  if (ends_) throw Ended();
  waiting_.push_back(std::move(batch));
  lock.unlock();
  changed_.notify_all();
}

}  // namespace msrun
