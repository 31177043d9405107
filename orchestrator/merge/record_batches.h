// Reads journals record by record in a thread of its own, some batches ahead of whoever takes the records.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "journal/reader.h"
#include "runner/results/record.h"

namespace msrun {

// Records of one journal that follow each other.
class RecordBatch {
 public:
  using Visit = std::function<void(Record&& record, std::string_view bytes)>;

  void add(Record&& record, std::string_view bytes);
  // Hands over all records, each once.
  void take(const Visit& visit);

  std::size_t size() const { return records_.size(); }
  bool is_last = false;          // of its journal
  journal::Recovery recovery;    // with the last
  std::uint64_t unreadable = 0;  // records of the journal, with the last
  std::exception_ptr failure;    // in place of records: the journal cannot be read

 private:
  std::vector<Record> records_;
  std::vector<std::size_t> ends_;  // in bytes_
  std::string bytes_;
};

class RecordBatches {
 public:
  // Begins to read the journals, one after the other.
  explicit RecordBatches(std::vector<std::string> paths);
  // Ends the reading.
  ~RecordBatches();
  RecordBatches(const RecordBatches&) = delete;
  RecordBatches& operator=(const RecordBatches&) = delete;

  // The next batch; after the last of the last journal there is none. Throws what reading the journal has thrown.
  RecordBatch next();

 private:
  void read_all();
  void read(const std::string& path);
  void push(RecordBatch&& batch);

  std::vector<std::string> paths_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<RecordBatch> waiting_;
  bool ends_ = false;
  std::thread reader_;
};

}  // namespace msrun
