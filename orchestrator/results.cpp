#include "orchestrator/results.h"

#include <chrono>
#include <memory>

namespace msrun {
namespace {

template <class F>
void timed(std::uint64_t& total, F&& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  const auto elapsed = std::chrono::steady_clock::now() - start;
  total += static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
}

}  // namespace

ResultStore::ResultStore(std::size_t tasks, std::vector<int> devices, RunFiles files, CsvStyle style,
                         journal::Writer& journal, ProgressView& view)
    : devices_(std::move(devices)),
      files_(std::move(files)),
      style_(style),
      journal_(&journal),
      view_(view),
      encoded_(tasks) {}

ResultStore::ResultStore(std::size_t tasks, ProgressView& view) : view_(view), encoded_(tasks) {}

void ResultStore::keep(const ApiResult& result, std::string_view encoded) {
  encoded_[result.task] = encoded;
  ++done_;
  summary_.add(result);
}

void ResultStore::restore(const ApiResult& result, std::string_view encoded) {
  if (result.task >= encoded_.size() || is_done(result.task)) return;
  keep(result, encoded);
  ++restored_;
}

void ResultStore::add(std::string_view encoded) {
  ApiResult result = decode_result(encoded);
  if (result.task >= encoded_.size() || is_done(result.task)) return;
  keep(result, encoded);
  times_.materialise += result.times.materialise;
  times_.device += result.times.device;
  times_.benchmark += result.times.benchmark;
  times_.compare += result.times.compare;
  uncommitted_.push_back(std::move(result));
}

void ResultStore::add(const ApiResult& result) { add(encode(result)); }

void ResultStore::note(std::string record) {
  if (journal_ != nullptr) notes_.push_back(std::move(record));
}

void ResultStore::commit() {
  if (uncommitted_.empty() && notes_.empty()) return;
  if (journal_ != nullptr) {
    timed(journal_time_, [&] {
      for (const ApiResult& result : uncommitted_) journal_->append(encoded_[result.task]);
      for (const std::string& record : notes_) journal_->append(record);
      journal_->flush();
    });
    notes_.clear();
  }
  if (csvs_) timed(csv_time_, [&] { csvs_->append(uncommitted_); });
  for (const ApiResult& result : uncommitted_) view_.api_result(result);
  uncommitted_.clear();
}

void ResultStore::open_fresh_csvs() { csvs_ = CsvFiles::create(files_, style_); }

void ResultStore::rewrite_and_open_csvs() {
  write_csv_files(files_, style_, in_dump_order(all_devices));
  csvs_ = CsvFiles::open(files_, style_);
}

ResultSource ResultStore::in_dump_order(int device) const {
  auto current = std::make_shared<ApiResult>();
  return [this, device, current, task = std::size_t{0}]() mutable -> const ApiResult* {
    for (; task < encoded_.size(); ++task) {
      if (encoded_[task].empty()) continue;
      *current = decode_result(encoded_[task]);
      if (device == all_devices || current->device == device) {
        ++task;
        return current.get();
      }
    }
    return nullptr;
  };
}

void ResultStore::write_device_csvs() const {
  if (devices_.size() < 2) return;
  for (const int device : devices_) {
    const std::string directory = join_path(files_.directory, "device" + std::to_string(device));
    prepare_output_directory(directory);
    write_csv_files(run_files(directory, files_.stamp), style_, in_dump_order(device));
  }
}

void ResultStore::finish() {
  commit();
  if (journal_ == nullptr) return;
  timed(journal_time_, [&] { journal_->close(); });
  timed(csv_time_, [&] {
    csvs_.reset();
    write_csv_files(files_, style_, in_dump_order(all_devices));
    write_device_csvs();
  });
}

}  // namespace msrun
