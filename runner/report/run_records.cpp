#include "runner/report/run_records.h"

#include <algorithm>
#include <map>
#include <utility>

#include "journal/reader.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "runner/results/journal_records.h"
#include "runner/results/run_header.h"
#include "runner/results/run_of_rank.h"

namespace msrun::report {
namespace {

using Metadata = nlohmann::ordered_json;

void count_results(RunRecords& records) {
  records.results.visit_outlines([&](const ApiResult& result) {
    records.counts.add(result);
    ++records.finished;
  });
}

class Reading {
 public:
  explicit Reading(const std::string& rank) { records_.rank = rank; }

  RunRecords read(const journal::Source& source) {
    records_.metadata = read_run_header(source).value_or(Metadata::object());
    records_.planned = planned_calls(records_.metadata).value_or(0);
    records_.part = part_of_run(records_.metadata);
    const journal::Recovery recovery =
        read_records(source, {.result = [this](ApiResult&& result) { see(std::move(result)); },
                              .part = [this](ResultPart&& part) { see(part); },
                              .attempt = [this](const AttemptNote& note) { see(note); },
                              .time = [this](const TimeNote& note) { see(note); },
                              .death =
                                  [this](const DeathNote& note) {
                                    records_.deaths.push_back({note, session()});
                                  },
                              .rank = [this](RankCalls&& calls) { see(std::move(calls)); },
                              .unreadable = [this](const std::string&) { ++unreadable_; }});
    records_.losses = losses_text(recovery, unreadable_);
    if (!records_.rank.empty()) take_rank(source.name());
    count_results(records_);
    return std::move(records_);
  }

 private:
  std::uint32_t session() const { return records_.sessions == 0 ? 0 : records_.sessions - 1; }

  void see(const AttemptNote& note) {
    if (note.event == AttemptNote::Event::start) ++records_.sessions;
  }

  void see(const TimeNote& note) {
    if (!records_.first_result) records_.first_result = note.time;
    records_.last_result = note.time;
  }

  void see(RankCalls&& calls) {
    if (calls.rank == records_.rank && calls.is_within(records_.planned)) calls_ = std::move(calls);
  }

  // Of calls that a rank has several times the first stands for what its result tells of times and deaths.
  void take_rank(const std::string& journal) {
    if (!calls_) {
      throw UserError(journal + " does not say which calls are those of " + sanitised(records_.rank) + ".");
    }
    std::map<std::uint32_t, std::uint32_t> places;
    std::uint32_t place = 0;
    calls_->for_each([&](std::uint32_t task, const std::string*) { places.try_emplace(task, place++); });
    std::erase_if(records_.intervals, [&](Interval& interval) {
      const auto found = places.find(interval.task);
      if (found != places.end()) interval.task = found->second;
      return found == places.end();
    });
    for (Death& death : records_.deaths) {
      std::erase_if(death.note.calls, [&](DeathNote::Call& call) {
        const auto found = places.find(call.task);
        if (found != places.end()) call.task = found->second;
        return found == places.end();
      });
    }
    std::erase_if(records_.deaths, [](const Death& death) { return death.note.calls.empty(); });
    StoredResults whole(records_.results.tasks());
    for (std::uint32_t task = 0; task < records_.results.tasks(); ++task) {
      if (records_.results.has(task)) records_.results.visit(task, [&](const ApiResult& result) { whole.put(result); });
    }
    records_.results = CallResults(results_of_rank(whole, *calls_));
    records_.planned = calls_->size();
    records_.checked_folder = text_in(records_.metadata, "api_info");
    records_.metadata = header_of_rank(std::move(records_.metadata), records_.rank);
  }

  void see(ApiResult&& result) {
    const std::uint32_t task = result.task;
    // Behind the plan are results that are kept for later runs.
    if (task >= records_.planned) {
      if (records_.rank.empty()) keep(std::move(result));
      return;
    }
    // The records of the ranks stand in front of the results.
    if (!records_.rank.empty() && (!calls_ || !calls_->has(task))) return;
    if (records_.results.tasks() <= task) {
      records_.results.resize(
          std::min<std::size_t>(records_.planned, std::max<std::size_t>(1024, std::size_t{task} * 2)));
    }
    add_interval(result);
    records_.results.put(std::move(result));
  }

  void keep(ApiResult&& result) {
    result.task -= static_cast<std::uint32_t>(records_.planned);
    if (result.task >= kept_results(records_.metadata).value_or(0)) return;
    if (records_.kept.tasks() <= result.task) {
      records_.kept.resize(std::max<std::size_t>(1024, std::size_t{result.task} * 2));
    }
    records_.kept.put(result);
  }

  void see(const ResultPart& part) {
    waiting_[part.result.task].push_back(part.result.run.began);
    add_interval(part.result);
  }

  // The result of a call that ran on several devices repeats the time of one of its parts.
  void add_interval(const ApiResult& result) {
    if (result.run.began == 0 || result.device < 0) return;
    if (result.agreement) {
      const auto parts = waiting_.extract(result.task);
      if (!parts.empty() && std::ranges::find(parts.mapped(), result.run.began) != parts.mapped().end()) return;
    }
    records_.intervals.push_back(
        {result.device, result.run.thread, result.run.began, result.run.took, result.task, session()});
  }

  RunRecords records_;
  std::uint64_t unreadable_ = 0;                                 // records
  std::optional<RankCalls> calls_;                               // of the rank
  std::map<std::uint32_t, std::vector<std::uint64_t>> waiting_;  // by task: when the parts of its result began
};

}  // namespace

std::uint64_t missing_calls(const RunRecords& records) {
  const bool has_no_number = !records.part.name.empty() && !records.part.calls;
  const std::uint64_t own = has_no_number ? records.finished : records.part.calls.value_or(records.planned);
  return own > records.finished ? own - records.finished : 0;
}

RunRecords read_run_records(const journal::Source& source, const std::string& rank) {
  return Reading(rank).read(source);
}

RunRecords records_of_results(StoredResults results, Sources sources) {
  RunRecords records;
  records.metadata = Metadata::object();
  records.sources = std::move(sources);
  records.planned = results.tasks();
  records.results = CallResults(std::move(results));
  count_results(records);
  return records;
}

}  // namespace msrun::report
