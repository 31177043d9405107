#include "orchestrator/command/journal_contents.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "journal/file.h"
#include "orchestrator/output/rank_csvs.h"
#include "runner/results/journal_records.h"
#include "runner/results/run_header.h"

namespace msrun {
namespace {

using Json = nlohmann::ordered_json;

class Reading {
 public:
  explicit Reading(const std::string& path) { contents_.path = path; }

  JournalContents read() {
    const std::unique_ptr<journal::Source> source = journal::open_source(contents_.path);
    contents_.writer = journal::find_holder(contents_.path);
    const journal::FileHeader header = journal::read_header(*source);
    contents_.metadata = parse_run_header(header.metadata).value_or(Json());
    contents_.started = started_at(contents_.metadata);
    contents_.calls = planned_calls(contents_.metadata).value_or(0);
    kept_ = kept_results(contents_.metadata).value_or(0);
    contents_.recovery =
        read_records(*source, {.result = [this](ApiResult&& result) { see(result); },
                               .part = [this](ResultPart&& part) { waiting_.insert(part.result.task); },
                               .attempt = [this](const AttemptNote&) { ++contents_.attempt_notes; },
                               .time = [this](const TimeNote& note) { see(note); },
                               .rank = [this](RankCalls&& calls) { see(std::move(calls)); },
                               .unreadable = [this](const std::string&) { ++contents_.unreadable; }});
    contents_.disk_bytes = contents_.recovery.valid_size + contents_.recovery.torn_bytes;
    contents_.waiting = waiting_.size();
    count();
    return std::move(contents_);
  }

 private:
  void see(const TimeNote& note) {
    if (!contents_.first_result) contents_.first_result = note.time;
    contents_.last_result = note.time;
  }

  void see(RankCalls&& calls) {
    const bool is_next = calls.number == contents_.ranks.size();
    if (is_next && calls.is_within(contents_.calls)) {
      contents_.ranks.push_back(std::move(calls));
    } else {
      ++contents_.unreadable;
    }
  }

  void see(const ApiResult& result) {
    const std::uint32_t task = result.task;
    if (task >= contents_.calls + kept_) {
      ++contents_.unreadable;
      return;
    }
    if (contents_.results.tasks() <= task) {
      contents_.results.resize(
          std::min<std::size_t>(contents_.calls + kept_, std::max<std::size_t>(1024, std::size_t{task} * 2)));
    }
    if (contents_.results.has(task)) ++contents_.replaced;
    contents_.results.put(result);
    waiting_.erase(task);
  }

  void count() {
    if (!contents_.ranks.empty() && contents_.results.tasks() < contents_.calls) {
      contents_.results.resize(contents_.calls);
    }
    RankList ranks;
    for (const RankCalls& rank : contents_.ranks) ranks.push_back(&rank);
    contents_.rank_counts = count_by_rank(ranks, contents_.results);
    for (std::uint32_t task = 0; task < contents_.results.tasks(); ++task) {
      if (!contents_.results.has(task)) continue;
      if (task >= contents_.calls) {
        ++contents_.kept;
        continue;
      }
      ++contents_.finished;
      const ApiResult result = contents_.results.outline(task);
      contents_.counts.add(result);
      contents_.devices[result.device].add(result);
    }
  }

  JournalContents contents_;
  std::set<std::uint32_t> waiting_;
  std::uint64_t kept_ = 0;  // results that the metadata allow behind those of the plan
};

}  // namespace

bool JournalContents::simulated() const {
  return counts.simulated > 0 ||
         (counts.not_simulated == 0 && metadata.is_object() && metadata.value("backend", Json()) == "sim");
}

std::vector<std::vector<std::string>> represented_calls(const JournalContents& contents) {
  std::vector<std::vector<std::string>> calls(contents.ranks.empty() ? 0 : contents.results.tasks());
  for (const RankCalls& rank : contents.ranks) {
    rank.for_each([&](std::uint32_t task, const std::string* name) {
      if (!contents.results.has(task)) return;
      const std::string title = contents.results.outline(task).name;
      if (rank_in(title) == rank.rank) return;
      calls[task].push_back(rank.rank + ":" + (name != nullptr ? *name : std::string(without_rank(title))));
    });
  }
  return calls;
}

JournalContents read_journal(const std::string& path) { return Reading(path).read(); }

}  // namespace msrun
