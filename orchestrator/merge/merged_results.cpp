#include "orchestrator/merge/merged_results.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace msrun {
namespace {

// What is the same wherever a call was checked: neither the time it took nor the number of the device, nor whether its
// tensors could be kept.
std::string finding_of(ApiResult result) {
  result.times = {};
  result.run = {};
  result.unsaved.clear();
  result.device = 0;
  return encode(result);
}

}  // namespace

MergedResults::MergedResults(std::uint64_t calls, journal::Writer& journal)
    : journal_(journal), chosen_(calls), seen_(calls, nobody) {}

void MergedResults::get(std::uint32_t task, ApiResult& result) const {
  parts_[chosen_[task].part]->get(chosen_[task].place, result);
  result.task = task;
}

ApiResult MergedResults::outline(std::uint32_t task) const {
  ApiResult result = parts_[chosen_[task].part]->outline(chosen_[task].place);
  result.task = task;
  return result;
}

void MergedResults::add(PartJournal& part, RecordBatches& batches) {
  current_ = &part;
  for (bool is_last = false; !is_last;) {
    RecordBatch batch = batches.next();
    batch.take([this](std::uint32_t task, std::uint32_t place, std::string_view bytes) { see(task, place, bytes); },
               [this](Record&& record, std::string_view bytes) {
                 if (auto* rank = std::get_if<RankCalls>(&record)) {
                   see(std::move(*rank), bytes);
                 } else if (const auto* piece = std::get_if<ResultPart>(&record)) {
                   if (piece->result.task >= chosen_.size()) return;
                   device_parts_.try_emplace({piece->result.task, piece->part}, std::string(bytes));
                 }
               });
    is_last = batch.is_last;
    if (!is_last) continue;
    part.recovery = std::move(batch.recovery);
    part.unreadable += batch.unreadable;
    parts_.push_back(std::move(batch.results));
  }
  compare_repeated(part);
  ++part_;
}

void MergedResults::see(std::uint32_t task, std::uint32_t place, std::string_view record) {
  if (task >= chosen_.size()) {
    ++current_->unreadable;
    return;
  }
  if (seen_[task] != part_) ++current_->results;
  seen_[task] = part_;
  Chosen& chosen = chosen_[task];
  if (chosen.part != nobody && chosen.part != part_) {
    repeated_[task] = place;
    return;
  }
  if (chosen.part == nobody) {
    ++current_->taken;
    ++count_;
  }
  chosen = {part_, place};
  // The last result of a call that was run again in this part counts, here as there.
  journal_.append(record);
}

// The calls of a rank are the same in all parts, as the recordings are.
void MergedResults::see(RankCalls&& calls, std::string_view record) {
  if (!calls.is_within(chosen_.size())) {
    ++current_->unreadable;
  } else if (!ranks_.contains(calls.number)) {
    journal_.append(record);
    ranks_.emplace(calls.number, std::move(calls));
  }
}

void MergedResults::compare_repeated(PartJournal& part) {
  ApiResult other;
  ApiResult first;
  for (const auto& [task, place] : repeated_) {
    ++overlapping_;
    get(task, first);
    parts_[part_]->get(place, other);
    other.task = task;
    const bool agree = finding_of(other) == finding_of(first);
    const bool failed_here = other.outcome == Outcome::failed_to_run;
    const bool failed_there = first.outcome == Outcome::failed_to_run;
    if (!agree) disagreements_.push_back({task, first.name, chosen_[task].part, part_, failed_here || failed_there});
    const bool has_run_here_alone = failed_there && !failed_here;
    const bool is_saved_here_alone = agree && !first.unsaved.empty() && other.unsaved.empty();
    if (!has_run_here_alone && !is_saved_here_alone) continue;
    if (!agree) std::swap(disagreements_.back().kept, disagreements_.back().other);
    chosen_[task] = {part_, place};
    ++part.taken;
    journal_.append(encode(other));
  }
  repeated_.clear();
  if (part.taken == 0) parts_[part_].reset();
  std::ranges::stable_sort(disagreements_, {}, &Disagreement::task);
}

RankList MergedResults::ranks() const {
  RankList list;
  for (const auto& [number, rank] : ranks_) list.push_back(&rank);
  return list;
}

void MergedResults::finish() {
  for (const auto& [key, record] : device_parts_) {
    if (!has(key.first)) journal_.append(record);
  }
}

}  // namespace msrun
