// Reads journals record by record in threads of its own, ahead of whoever takes the records.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "journal/reader.h"
#include "runner/results/record.h"
#include "runner/results/stored_results.h"

namespace msrun {

// Records of one journal that follow each other.
class RecordBatch {
 public:
  // The task of a result, its place among the results of the journal, and the bytes of its record.
  using OnResult = std::function<void(std::uint32_t task, std::uint32_t place, std::string_view bytes)>;
  using OnOther = std::function<void(Record&& record, std::string_view bytes)>;

  void add_result(std::uint32_t task, std::uint32_t place, std::string_view bytes);
  void add_other(Record&& record, std::string_view bytes);
  // Hands over all records in order, each once.
  void take(const OnResult& on_result, const OnOther& on_other);

  std::size_t bytes() const { return bytes_.size(); }
  bool is_last = false;        // of its journal
  journal::Recovery recovery;  // with the last
  // With the last: all results of the journal, by their places.
  std::unique_ptr<StoredResults> results;
  std::uint64_t unreadable = 0;  // records of the journal, with the last
  std::exception_ptr failure;    // in place of records: the journal cannot be read

 private:
  struct Entry {
    std::size_t end = 0;  // in bytes_
    std::uint32_t task = 0;
    std::uint32_t place = 0;
    bool is_result = false;
  };
  std::vector<Entry> entries_;
  std::string bytes_;
  std::deque<Record> others_;
};

class RecordBatches {
 public:
  // Begins to read the journals, some at a time. What is read ahead of next() is limited in bytes. Where the host gives
  // no thread for it, next() reads a journal as a whole.
  explicit RecordBatches(std::vector<std::string> paths);
  // Ends the reading.
  ~RecordBatches();
  RecordBatches(const RecordBatches&) = delete;
  RecordBatches& operator=(const RecordBatches&) = delete;

  // The next batch, of the journals in their order; after the last of the last journal there is none. Throws what
  // reading the journal has thrown.
  RecordBatch next();

 private:
  void work();
  void read_or_fail(std::size_t journal);
  void read(std::size_t journal);
  void push(std::size_t journal, RecordBatch&& batch);

  std::vector<std::string> paths_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::deque<RecordBatch>> waiting_;  // by journal
  std::size_t bytes_ = 0;                         // of all that wait
  std::size_t to_read_ = 0;                       // the first journal that nobody has begun to read
  std::size_t to_take_ = 0;                       // the journal of next()
  bool ends_ = false;
  bool reads_itself_ = false;  // as there is no thread
  std::vector<std::thread> threads_;
};

}  // namespace msrun
