#include "orchestrator/merge/merged_results.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace msrun {
namespace {

// What is the same wherever a call was checked: neither the time it took nor the number of the device.
std::string finding_of(ApiResult result) {
  result.times = {};
  result.run = {};
  result.device = 0;
  return encode(result);
}

}  // namespace

MergedResults::MergedResults(std::uint64_t calls, journal::Writer& journal)
    : journal_(journal), results_(calls), source_(calls, nobody), seen_(calls, nobody) {}

void MergedResults::add(PartJournal& part, RecordBatches& batches) {
  current_ = &part;
  for (bool is_last = false; !is_last;) {
    RecordBatch batch = batches.next();
    batch.take([this](Record&& record, std::string_view bytes) {
      if (auto* result = std::get_if<ApiResult>(&record)) {
        see(std::move(*result), bytes);
      } else if (auto* rank = std::get_if<RankCalls>(&record)) {
        see(std::move(*rank), bytes);
      } else if (const auto* piece = std::get_if<ResultPart>(&record)) {
        if (piece->result.task >= source_.size()) return;
        device_parts_.try_emplace({piece->result.task, piece->part}, std::string(bytes));
      }
    });
    is_last = batch.is_last;
    if (!is_last) continue;
    part.recovery = std::move(batch.recovery);
    part.unreadable += batch.unreadable;
  }
  compare_repeated(part);
  ++part_;
}

void MergedResults::see(ApiResult&& result, std::string_view record) {
  const std::uint32_t task = result.task;
  if (task >= source_.size()) {
    ++current_->unreadable;
    return;
  }
  if (seen_[task] != part_) ++current_->results;
  seen_[task] = part_;
  if (source_[task] != nobody && source_[task] != part_) {
    if (repeated_.tasks() == 0) repeated_.resize(source_.size());
    return repeated_.put(result);
  }
  if (source_[task] == nobody) ++current_->taken;
  source_[task] = part_;
  results_.put(result);
  // Of a call that was run again in this part the last counts, here as there.
  journal_.append(record);
}

// The same in all parts, as the recordings are.
void MergedResults::see(RankCalls&& calls, std::string_view record) {
  if (!calls.is_within(source_.size())) {
    ++current_->unreadable;
  } else if (!ranks_.contains(calls.number)) {
    journal_.append(record);
    ranks_.emplace(calls.number, std::move(calls));
  }
}

void MergedResults::compare_repeated(PartJournal& part) {
  for (std::uint32_t task = 0; task < repeated_.tasks(); ++task) {
    if (!repeated_.has(task)) continue;
    ++overlapping_;
    const ApiResult other = repeated_.get(task);
    const ApiResult first = results_.get(task);
    if (finding_of(other) == finding_of(first)) continue;
    const bool failed_here = other.outcome == Outcome::failed_to_run;
    const bool failed_there = first.outcome == Outcome::failed_to_run;
    disagreements_.push_back({task, first.name, source_[task], part_, failed_here || failed_there});
    if (!failed_there || failed_here) continue;
    std::swap(disagreements_.back().kept, disagreements_.back().other);
    source_[task] = part_;
    ++part.taken;
    results_.put(other);
    journal_.append(encode(other));
  }
  repeated_ = StoredResults();
  std::ranges::stable_sort(disagreements_, {}, &Disagreement::task);
}

RankList MergedResults::ranks() const {
  RankList list;
  for (const auto& [number, rank] : ranks_) list.push_back(&rank);
  return list;
}

void MergedResults::finish() {
  for (const auto& [key, record] : device_parts_) {
    if (!results_.has(key.first)) journal_.append(record);
  }
}

}  // namespace msrun
