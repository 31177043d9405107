// The threads that convert. Candidates go in as batches, results come out in the order in which batches are done.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tools/torchair_convert/replace.h"

namespace msrun::convert {

using Converted = std::pair<Candidate, Result>;

// How much is done at the same time. Files that wait hold their directory open, files in work also source and target.
struct WorkPlan {
  std::size_t threads = 1;  // each with a batch in work; as many batches wait
  std::size_t files_per_batch = 1;
};

// For that many batches that compute, as far as so many open files allow.
WorkPlan plan_work(int workers, std::uint64_t descriptors);

class Workers {
 public:
  // Fewer threads than planned if the system allows no more; UserError if it allows none. stop as for Replacer.
  Workers(Statistics statistics, const WorkPlan& plan, const std::atomic<bool>& stop);
  ~Workers();  // finishes what was put in
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Waits while there is enough to do already.
  void put(Candidate candidate);
  // What was put in so far is begun, even if more would fit into its batch.
  void flush();
  // Waits for everything that was put in.
  void finish();
  // Results since the last call.
  std::vector<Converted> take();

 private:
  using Batch = std::vector<Candidate>;
  void work();
  void push(std::unique_lock<std::mutex>& lock);

  const WorkPlan plan_;
  TaskPool pool_;
  Replacer replacer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Batch next_;
  std::uint64_t next_bytes_ = 0;
  std::deque<Batch> waiting_;
  std::size_t working_ = 0;
  bool ending_ = false;
  std::vector<Converted> done_;
  std::vector<std::thread> threads_;
};

}  // namespace msrun::convert
