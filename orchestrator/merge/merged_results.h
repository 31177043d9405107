// The results of several parts of a run as those of one: what each journal adds, and where they disagree.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "journal/writer.h"
#include "orchestrator/merge/part_journal.h"
#include "orchestrator/merge/record_batches.h"
#include "orchestrator/output/rank_csvs.h"
#include "runner/results/record.h"
#include "runner/results/stored_results.h"

namespace msrun {

// Two parts have checked the same call; the result of the first counts, unless only the other was checked.
struct Disagreement {
  std::uint32_t task = 0;
  std::string name;
  std::size_t kept = 0;  // places in the list of the parts
  std::size_t other = 0;
  bool one_failed = false;  // the call failed to run, or its runner died, in one of them
};

class MergedResults {
 public:
  // The journal gets every result that counts, as the bytes that it has in its own; it outlives this.
  MergedResults(std::uint64_t calls, journal::Writer& journal);

  // Takes the records of the part, the next in the list, from batches, which read the journals of all. Throws
  // journal::Error, journal::WriteError.
  void add(PartJournal& part, RecordBatches& batches);
  // After the last part: calls for all devices that have no result keep what single devices have given.
  void finish();

  const StoredResults& results() const { return results_; }
  // Of a run over several ranks, by number; else empty.
  RankList ranks() const;
  // By task.
  const std::vector<Disagreement>& disagreements() const { return disagreements_; }
  std::uint64_t overlapping() const { return overlapping_; }

 private:
  void see(ApiResult&& result, std::string_view record);
  void see(RankCalls&& calls, std::string_view record);
  void compare_repeated(PartJournal& part);

  static constexpr std::uint32_t nobody = 0xFFFFFFFFU;

  journal::Writer& journal_;
  StoredResults results_;
  std::vector<std::uint32_t> source_;  // by task: the part whose result counts
  std::vector<std::uint32_t> seen_;    // by task: the part that gave one last
  std::uint32_t part_ = 0;
  // Of the part that is read: results of calls that have one of an earlier part.
  StoredResults repeated_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> device_parts_;  // by task and part: records
  std::map<std::uint32_t, RankCalls> ranks_;                                     // by number
  std::vector<Disagreement> disagreements_;
  std::uint64_t overlapping_ = 0;
  PartJournal* current_ = nullptr;
};

}  // namespace msrun
