#include "orchestrator/merge/record_batches.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kernels/base/start_threads.h"
#include "runner/results/bytes.h"

namespace msrun {
namespace {

constexpr std::size_t bytes_of_a_batch = std::size_t{128} << 10;
constexpr std::size_t most_waiting = std::size_t{64} << 20;  // bytes
constexpr unsigned most_reading_threads = 8;
constexpr std::size_t first_places = 1024;

// Thrown through the reading of a journal whose records nobody takes any more.
struct Ended {};

// Takes the records of one journal as they come.
class JournalRecords {
 public:
  // Into batch, unless it is no record.
  void take(std::string_view bytes, RecordBatch& batch) {
    try {
      if (is_latest_result(bytes)) {
        decode_result(bytes, result_);
        return put(bytes, batch);
      }
      Record record = decode_record(bytes);
      if (auto* result = std::get_if<ApiResult>(&record)) {
        result_ = std::move(*result);
        put(bytes, batch);
      } else {
        batch.add_other(std::move(record), bytes);
      }
    } catch (const RecordError&) {
      ++unreadable_;
    }
  }

  std::uint64_t unreadable() const { return unreadable_; }
  std::unique_ptr<StoredResults> results() { return std::move(results_); }

 private:
  void put(std::string_view bytes, RecordBatch& batch) {
    if (next_ == results_->tasks()) results_->resize(std::max<std::size_t>(first_places, 2 * results_->tasks()));
    batch.add_result(result_.task, next_, bytes);
    result_.task = next_++;
    results_->put(result_);
  }

  ApiResult result_;  // whose memory is used again and again
  std::unique_ptr<StoredResults> results_ = std::make_unique<StoredResults>();
  std::uint32_t next_ = 0;
  std::uint64_t unreadable_ = 0;
};

}  // namespace

void RecordBatch::add_result(std::uint32_t task, std::uint32_t place, std::string_view bytes) {
  bytes_ += bytes;
  entries_.push_back({bytes_.size(), task, place, true});
}

void RecordBatch::add_other(Record&& record, std::string_view bytes) {
  bytes_ += bytes;
  entries_.push_back({bytes_.size(), 0, 0, false});
  others_.push_back(std::move(record));
}

void RecordBatch::take(const OnResult& on_result, const OnOther& on_other) {
  std::size_t begin = 0;
  for (const Entry& entry : entries_) {
    const std::string_view bytes = std::string_view(bytes_).substr(begin, entry.end - begin);
    begin = entry.end;
    if (entry.is_result) {
      on_result(entry.task, entry.place, bytes);
    } else {
      on_other(std::move(others_.front()), bytes);
      others_.pop_front();
    }
  }
  entries_.clear();
}

RecordBatches::RecordBatches(std::vector<std::string> paths) : paths_(std::move(paths)), waiting_(paths_.size()) {
  const std::size_t processors = std::clamp(std::thread::hardware_concurrency(), 1U, most_reading_threads);
  start_threads(threads_, std::min(processors, paths_.size()), [this] { work(); });
  // Then next() reads.
  if (threads_.empty()) reads_itself_ = true;
}

RecordBatches::~RecordBatches() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

RecordBatch RecordBatches::next() {
  if (reads_itself_ && waiting_[to_take_].empty()) read_or_fail(to_take_);
  std::unique_lock lock(mutex_);
  std::deque<RecordBatch>& waiting = waiting_[to_take_];
  changed_.wait(lock, [&] { return !waiting.empty(); });
  RecordBatch batch = std::move(waiting.front());
  waiting.pop_front();
  bytes_ -= batch.bytes();
  if (batch.is_last) ++to_take_;
  lock.unlock();
  changed_.notify_all();
  if (batch.failure) std::rethrow_exception(batch.failure);
  return batch;
}

void RecordBatches::work() {
  while (true) {
    std::size_t journal = 0;
    {
      const std::lock_guard lock(mutex_);
      if (ends_ || to_read_ == paths_.size()) return;
      journal = to_read_++;
    }
    try {
      read_or_fail(journal);
    } catch (const Ended&) {
      return;
    }
  }
}

void RecordBatches::read_or_fail(std::size_t journal) {
  try {
    read(journal);
  } catch (const Ended&) {
    throw;
  } catch (...) {
    RecordBatch batch;
    batch.failure = std::current_exception();
    const std::lock_guard lock(mutex_);
    waiting_[journal].push_back(std::move(batch));
    changed_.notify_all();
  }
}

void RecordBatches::read(std::size_t journal) {
  RecordBatch batch;
  JournalRecords records;
  journal::Recovery recovery = journal::read(paths_[journal], [&](std::string_view bytes) {
    records.take(bytes, batch);
    if (batch.bytes() >= bytes_of_a_batch) push(journal, std::exchange(batch, {}));
  });
  batch.is_last = true;
  batch.recovery = std::move(recovery);
  batch.unreadable = records.unreadable();
  batch.results = records.results();
  push(journal, std::move(batch));
}

// The journal that is taken from may go on, however much of later ones waits. Where its reader is its taker, too, all
// of it waits.
void RecordBatches::push(std::size_t journal, RecordBatch&& batch) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return ends_ || reads_itself_ || bytes_ < most_waiting || (journal == to_take_ && waiting_[journal].empty());
  });
  if (ends_) throw Ended();
  bytes_ += batch.bytes();
  waiting_[journal].push_back(std::move(batch));
  lock.unlock();
  changed_.notify_all();
}

}  // namespace msrun
