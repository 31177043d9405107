#include "orchestrator/output/results.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <utility>
#include <variant>

#include <spdlog/spdlog.h>

#include "kernels/base/clock.h"
#include "kernels/base/text.h"

namespace msrun {
namespace {

constexpr double time_note_interval = 1;  // seconds
// Seconds after which rows are appended to the CSVs. The end of a run puts all rows in order anyway, so that those of
// its last moments, which are all rows of a short run, need not be written twice.
constexpr double csv_interval = 1;
// A full disk concerns every call that follows.
constexpr std::size_t most_unsaved_named = 10;

}  // namespace

ResultStore::ResultStore(std::size_t tasks, std::vector<int> devices, RunFiles files, CsvStyle style,
                         journal::Writer& journal, ProgressView& view)
    : devices_(std::move(devices)),
      files_(std::move(files)),
      folder_(files_.directory),
      style_(style),
      journal_(&journal),
      view_(view),
      stored_(tasks) {}

ResultStore::ResultStore(std::size_t tasks, ProgressView& view) : view_(view), stored_(tasks) {}

ResultStore::~ResultStore() {
  try {
    if (csvs_) append_csvs();
  } catch (const std::exception&) {
    // They can be rendered from the journal.
  }
  if (!sync_delay_ || !unsynced_since_) return;
  try {
    journal_->sync();
  } catch (const std::exception&) {
    // The run has ended for a reason that was told.
  }
}

void ResultStore::restore(StoredResults earlier, const std::function<bool(const ApiResult&)>& run_again) {
  stored_ = std::move(earlier);
  for (std::uint32_t task = 0; task < stored_.tasks(); ++task) {
    if (!stored_.has(task)) continue;
    const ApiResult result = stored_.outline(task);
    if (run_again(result)) {
      forgone_.push_back(stored_.get(task));
      stored_.remove(task);
      continue;
    }
    summarise(result);
    const bool has_files =
        result.device < 0 || std::find(devices_.begin(), devices_.end(), result.device) != devices_.end();
    if (!has_files) devices_.push_back(result.device);
  }
  restored_ = stored_.count();
}

void ResultStore::join(const WorkItems& items) {
  items_ = items;
  joined_.emplace(items);
}

void ResultStore::restore(const ResultPart& part) {
  if (!joined_ || part.part >= 2 * items_.devices()) return;
  if (part.result.task >= stored_.tasks() || is_done(part.result.task)) return;
  // The program that wrote the parts wanted more of them than this one: the call runs again.
  joined_->add(part);
}

std::vector<std::uint32_t> ResultStore::missing(std::uint32_t task) const {
  if (is_done(task)) return {};
  return joined_ ? joined_->missing(task) : std::vector{task};
}

std::vector<std::uint32_t> ResultStore::newly_wanted() { return std::exchange(newly_wanted_, {}); }

bool ResultStore::is_item_done(std::uint32_t item) const {
  return is_done(items_.task(item)) || (joined_ && joined_->has(item));
}

void ResultStore::add(std::string_view encoded) {
  Record record = decode_record(encoded);
  if (auto* part = std::get_if<ResultPart>(&record)) {
    add(*part, encoded);
  } else {
    add(std::move(std::get<ApiResult>(record)), encoded);
  }
}

void ResultStore::add(const ApiResult& result) { add(ApiResult(result), encode(result)); }
void ResultStore::add(const ResultPart& part) { add(part, encode(part)); }

void ResultStore::add(ApiResult&& result, std::string_view encoded) {
  if (result.task >= stored_.tasks() || is_done(result.task)) return;
  stored_.put(result);
  summary_.add(result);
  in_dump_order_ = false;
  times_.materialise += result.times.materialise;
  times_.device += result.times.device;
  times_.benchmark += result.times.benchmark;
  times_.compare += result.times.compare;
  uncommitted_.push_back(std::move(result));
  if (journal_ == nullptr) return;
  unwritten_ += encoded;
  unwritten_sizes_.push_back(encoded.size());
}

// The last part of a call need not be written: the result holds what it says.
void ResultStore::add(const ResultPart& part, std::string_view encoded) {
  const std::uint32_t task = part.result.task;
  if (!joined_ || task >= stored_.tasks() || is_done(task)) return;
  if (part.part >= 2 * items_.devices() || joined_->has(items_.item(task, part.part))) return;
  if (const std::optional<ApiResult> result = joined_->add(part)) return add(*result);
  for (const std::uint32_t item : joined_->missing(task)) {
    if (items_.part(item) >= items_.devices()) newly_wanted_.push_back(item);
  }
  if (journal_ == nullptr) return;
  unwritten_ += encoded;
  unwritten_sizes_.push_back(encoded.size());
  has_new_parts_ = true;
}

void ResultStore::note(std::string record) {
  if (journal_ != nullptr) notes_.push_back(std::move(record));
}

void ResultStore::commit() {
  if (!uncommitted_.empty() || !notes_.empty() || has_new_parts_) {
    if (journal_ != nullptr) write_journal();
    for (const ApiResult& result : uncommitted_) {
      if (!result.unsaved.empty()) warn_of_unsaved(result);
      if (csvs_) not_in_csvs_.push_back(result.task);
      view_.api_result(result);
    }
    uncommitted_.clear();
  }
  if (csvs_ && !not_in_csvs_.empty() && steady_seconds() - csvs_appended_ >= csv_interval) append_csvs();
  if (unsynced_since_ && sync_delay_) sync_if_due();
}

void ResultStore::drop_uncommitted() {
  if (uncommitted_.empty()) return;
  for (const ApiResult& result : uncommitted_) stored_.remove(result.task);
  uncommitted_.clear();
  unwritten_.clear();
  unwritten_sizes_.clear();
  summary_ = Summary();
  for (std::uint32_t task = 0; task < stored_.tasks(); ++task) {
    if (stored_.has(task)) summarise(stored_.outline(task));
  }
}

void ResultStore::summarise(const ApiResult& outline) {
  const bool needs_rows = overall_status(outline) != Status::pass || is_suspicious(outline);
  summary_.add(needs_rows ? stored_.get(outline.task) : outline);
}

void ResultStore::warn_of_unsaved(const ApiResult& result) {
  if (++unsaved_ <= most_unsaved_named) spdlog::warn("{}: {}", sanitised(result.name), sanitised(result.unsaved));
  if (unsaved_ == most_unsaved_named) spdlog::warn("Further calls whose tensors cannot be saved are not named here.");
}

void ResultStore::make_durable() {
  commit();
  if (journal_ == nullptr) return;
  const Stopwatch watch(journal_time_);
  journal_->sync();
  unsynced_since_.reset();
}

void ResultStore::append_csvs() {
  const Stopwatch watch(csv_time_);
  // What cannot be written now is not tried again.
  const std::vector<std::uint32_t> tasks = std::exchange(not_in_csvs_, {});
  ApiResult result;
  std::size_t next = 0;
  csvs_->append([&]() -> const ApiResult* {
    if (next >= tasks.size()) return nullptr;
    result = stored_.get(tasks[next++]);
    return &result;
  });
  csvs_appended_ = steady_seconds();
}

void ResultStore::write_journal() {
  const Stopwatch watch(journal_time_);
  std::string_view rest = unwritten_;
  for (const std::size_t size : unwritten_sizes_) {
    journal_->append(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  for (const std::string& record : notes_) journal_->append(record);
  const double now = unix_seconds();
  // The clock may have been put back.
  if (!uncommitted_.empty() && std::abs(now - time_noted_) >= time_note_interval) {
    journal_->append(encode(TimeNote{now}));
    time_noted_ = now;
  }
  journal_->flush();
  unwritten_.clear();
  unwritten_sizes_.clear();
  has_new_parts_ = false;
  notes_.clear();
  if (!unsynced_since_) unsynced_since_ = steady_seconds();
}

void ResultStore::sync_if_due() {
  if (steady_seconds() - *unsynced_since_ < std::chrono::duration<double>(*sync_delay_).count()) return;
  const Stopwatch watch(journal_time_);
  journal_->sync();
  unsynced_since_.reset();
}

void ResultStore::open_fresh_csvs() {
  if (!ranks_.empty()) return make_rank_folders(*folder_, ranks_);
  csvs_ = CsvFiles::create(*folder_, files_, style_);
  csvs_appended_ = steady_seconds();
}

std::vector<std::string> ResultStore::rewrite_and_open_csvs(SetAside::Matters matters) {
  if (!ranks_.empty()) {
    make_rank_folders(*folder_, ranks_);
    return {};
  }
  aside_.emplace(*folder_, files_, matters);
  for (const ApiResult& result : forgone_) forgo_rows(*aside_, result, style_);
  write_csv_files(*folder_, files_, style_, in_dump_order(all_devices), &*aside_);
  std::vector<std::string> kept = aside_->kept();
  if (kept.empty()) aside_.reset();
  in_dump_order_ = true;
  csvs_ = CsvFiles::open(*folder_, files_, style_);
  csvs_appended_ = steady_seconds();
  return kept;
}

void ResultStore::for_each_outline(const std::function<void(const ApiResult&)>& visit) const {
  for (std::uint32_t task = 0; task < stored_.tasks(); ++task) {
    if (stored_.has(task)) visit(stored_.outline(task));
  }
}

void ResultStore::for_each(const std::function<void(const ApiResult&)>& visit) const {
  for (std::uint32_t task = 0; task < stored_.tasks(); ++task) {
    if (stored_.has(task)) visit(stored_.get(task));
  }
}

ResultSource ResultStore::in_dump_order(int device) const {
  auto current = std::make_shared<ApiResult>();
  return [this, device, current, task = std::uint32_t{0}, kept = std::uint32_t{0}]() mutable -> const ApiResult* {
    while (true) {
      if (kept < kept_.before.size() && kept_.before[kept] <= task) {
        *current = kept_.results.get(kept++);
      } else if (task >= stored_.tasks()) {
        return nullptr;
      } else if (const std::uint32_t next = task++; stored_.has(next)) {
        *current = stored_.get(next);
      } else {
        continue;
      }
      if (device == all_devices || current->device == device) return current.get();
    }
  };
}

void ResultStore::write_device_csvs() const {
  if (devices_.size() < 2 || !style_.pair_per_device) return;
  for (const int device : devices_) {
    const Folder folder = folder_->subfolder("device" + std::to_string(device));
    write_csv_files(folder, run_files(folder.path(), files_.stamp), style_, in_dump_order(device));
  }
}

void ResultStore::close_journal() {
  const Stopwatch watch(journal_time_);
  if (time_noted_ > 0) journal_->append(encode(TimeNote{unix_seconds()}));
  sync_delay_ ? journal_->close() : journal_->close_unsynced();
  unsynced_since_.reset();
}

void ResultStore::close_csvs() {
  const Stopwatch watch(csv_time_);
  if (!ranks_.empty()) {
    kept_of_ranks_ = write_rank_csvs(*folder_, files_.stamp, ranks_, style_, stored_);
  } else {
    write_one_pair();
  }
  // Only now: where no new files can be made, the destructor appends the last rows to those that there are.
  csvs_.reset();
  not_in_csvs_.clear();
  if (!folder_->is_at_its_path()) {
    throw WriteError("The directory " + files_.directory +
                     " is no longer the one that the run began in: the results are where that has gone.");
  }
}

void ResultStore::write_one_pair() {
  if (!in_dump_order_) {
    SetAside* const aside = aside_ ? &*aside_ : nullptr;
    if (aside != nullptr) {
      for (const ApiResult& result : forgone_) forgo_rows(*aside, result, style_);
    }
    write_csv_files(*folder_, files_, style_, in_dump_order(all_devices), aside);
    if (aside != nullptr) aside->release();
  }
  SetAside::drop_covered(*folder_, files_);
  write_device_csvs();
}

void ResultStore::finish(const std::function<void()>& journal_closed) {
  commit();
  if (journal_ == nullptr) return;
  close_journal();
  if (journal_closed) journal_closed();
  close_csvs();
}

}  // namespace msrun
