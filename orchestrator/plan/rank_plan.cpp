// The plan of several ranks: their recordings are read at the same time, and put together in their order.
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/start_threads.h"
#include "kernels/base/text.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/plan/rank_merge.h"
#include "orchestrator/plan/read_recording.h"

namespace msrun {
namespace {

// Threads read the recordings in their order, and only a few ahead of the one that is taken next: what is read takes
// memory.
class RankReader {
 public:
  RankReader(const std::vector<const RankFile*>& files, const PlanOptions& options)
      : files_(files), options_(options), results_(files.size()) {
    const std::size_t most = std::max(1U, std::thread::hardware_concurrency());
    ahead_ = std::min({most, most_threads, files.size()});
    // Where there are none, take() reads.
    start_threads(threads_, ahead_, [this] { work(); });
  }
  RankReader(const RankReader&) = delete;
  RankReader& operator=(const RankReader&) = delete;

  ~RankReader() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // The next recording. Throws what reading it threw.
  ReadRecording take() {
    if (threads_.empty()) return read(taken_++);
    std::unique_lock lock(mutex_);
    Result& result = results_[taken_];
    changed_.wait(lock, [&] { return result.read || result.error; });
    ++taken_;
    changed_.notify_all();
    if (result.error) std::rethrow_exception(result.error);
    return *std::exchange(result.read, std::nullopt);
  }

 private:
  static constexpr std::size_t most_threads = 8;

  struct Result {
    std::optional<ReadRecording> read;
    std::exception_ptr error;
  };

  ReadRecording read(std::size_t number) const {
    const RankFile& file = *files_[number];
    ReadRecording read = read_recording(file.path, options_, &file.rank);
    read.builder->pair(read.real_data);
    return read;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stopping_ || next_ == files_.size() || next_ <= taken_ + ahead_; });
      if (stopping_ || next_ == files_.size()) return;
      const std::size_t number = next_++;
      lock.unlock();
      Result result;
      try {
        result.read.emplace(read(number));
      } catch (...) {
        result.error = std::current_exception();
      }
      lock.lock();
      results_[number] = std::move(result);
      changed_.notify_all();
    }
  }

  const std::vector<const RankFile*>& files_;
  const PlanOptions& options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Result> results_;
  std::size_t ahead_ = 1;  // how far behind the one that is taken next a recording may be read
  std::size_t next_ = 0;   // to be read
  std::size_t taken_ = 0;  // that take() has returned
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

void add_contents(RecordingContents& all, const RecordingContents& more) {
  all.entries += more.entries;
  all.modules += more.modules;
  all.calls += more.calls;
  for (const auto& [type, count] : more.left_out_by_type) all.left_out_by_type[type] += count;
}

ReadRecording take_rank(RankReader& reader, const RankFile& file) {
  try {
    return reader.take();
  } catch (const UserError& error) {
    std::string text = error.what();
    if (!text.ends_with('.') && !text.ends_with('!')) text += '.';
    throw UserError(text + " To check the other ranks without it: --except " + shell_quoted(file.rank + ":*"));
  }
}

void require_one_framework(const RankFile& first, const Dialect& dialect, const RankFile& other,
                           const Dialect& other_dialect) {
  if (&dialect == &other_dialect) return;
  throw UserError("-api_info: the ranks are of different frameworks, which cannot be checked in one run: " +
                  sanitised(first.path) + " is of " + std::string(dialect.spellings().front()) + ", " +
                  sanitised(other.path) + " of " + std::string(other_dialect.spellings().front()) + ".");
}

}  // namespace

Plan Plan::read_ranks(const std::string& folder, const std::vector<RankFile>& files, const PlanOptions& options) {
  CallFilter filter(options.only, options.except);
  std::vector<const RankFile*> wanted;
  for (const RankFile& file : files) {
    const CallFilter of_rank(options.only, options.except, file.rank);
    if (of_rank.may_want_any()) {
      wanted.push_back(&file);
    } else {
      filter.absorb(of_rank);
    }
  }
  if (wanted.empty()) throw UserError(filter.refusal());

  Plan plan;
  RankMerge merge(options.across_ranks != AcrossRanks::off);
  const RankFile* first = nullptr;  // that has a call
  RankReader reader(wanted, options);
  for (const RankFile* file : wanted) {
    ReadRecording read = take_rank(reader, *file);
    const RecordingContents contents = read.contents();
    if (contents.entries > 0 || plan.dialect_ == nullptr) {
      if (first != nullptr) require_one_framework(*first, *plan.dialect_, *file, read.builder->dialect());
      plan.dialect_ = &read.builder->dialect();
      if (first == nullptr) {
        plan.origin_ = read.header.origin;
      } else if (plan.origin_ != read.header.origin) {
        plan.origin_ = {};
      }
      if (contents.entries > 0) first = file;
    }
    filter.absorb(read.builder->filter());
    merge.add(*file, read);
    add_contents(plan.contents_, contents);
    plan.real_data_ = plan.real_data_ || read.real_data;
    for (std::string& warning : read.warnings) plan.warnings_.push_back(std::move(warning));
    if (contents.calls == 0) {
      const bool only_modules = contents.modules > 0 && contents.modules == contents.entries;
      plan.warnings_.push_back(sanitised(file->path) +
                               (only_modules ? " records modules only, no call to check." : " has no call to check."));
    }
    if (contents.only_checksums && contents.calls > 0) plan.contents_.only_checksums = true;
    for (const RepeatedCall& call : read.builder->repeated()) {
      plan.repeated_.push_back({file->rank + ":" + call.kept, call.left_out});
    }
  }
  merge.finish();
  plan.ranks_ = std::move(merge.ranks());
  plan.unmet_patterns_ = filter.warnings();
  if (merge.records().empty() && plan.contents_.calls > 0) plan.refusal_ = filter.refusal();
  plan.lay_out(merge.records(), merge.bytes(), folder);
  return plan;
}

}  // namespace msrun
