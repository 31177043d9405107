// The results of several parts of a run as those of one: what each journal adds, and where they disagree.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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
#include "runner/results/task_results.h"

namespace msrun {

// Two parts have checked the same call; the result of the first counts, unless only the other was checked.
struct Disagreement {
  std::uint32_t task = 0;
  std::string name;
  std::size_t kept = 0;  // places in the list of the parts
  std::size_t other = 0;
  bool one_failed = false;  // the call failed to run, or its runner died, in one of them
};

class MergedResults final : public TaskResults {
 public:
  // The journal gets every result that counts, as the bytes that it has in its own; it outlives this.
  MergedResults(std::uint64_t calls, journal::Writer& journal);

  // Takes the records of the part, the next in the list, from batches, which read the journals of all. Throws
  // journal::Error, journal::WriteError.
  void add(PartJournal& part, RecordBatches& batches);
  // After the last part: calls for all devices that have no result keep what single devices have given.
  void finish();

  // How many tasks have a result.
  std::size_t count() const { return count_; }
  std::size_t tasks() const override { return chosen_.size(); }
  bool has(std::uint32_t task) const override { return chosen_[task].part != nobody; }
  void get(std::uint32_t task, ApiResult& result) const override;
  ApiResult outline(std::uint32_t task) const override;

  // The calls of the ranks of a run over several, by number; else empty.
  RankList ranks() const;
  // By task.
  const std::vector<Disagreement>& disagreements() const { return disagreements_; }
  std::uint64_t overlapping() const { return overlapping_; }

 private:
  void see(std::uint32_t task, std::uint32_t place, std::string_view record);
  void see(RankCalls&& calls, std::string_view record);
  void compare_repeated(PartJournal& part);

  static constexpr std::uint32_t nobody = 0xFFFFFFFFU;

  // The result that counts: the part that has it, and its place there.
  struct Chosen {
    std::uint32_t part = nobody;
    std::uint32_t place = 0;
  };

  journal::Writer& journal_;
  std::vector<std::unique_ptr<StoredResults>> parts_;
  std::vector<Chosen> chosen_;       // by task
  std::vector<std::uint32_t> seen_;  // by task: the part that gave one last
  std::uint32_t part_ = 0;
  std::size_t count_ = 0;
  // What is known of the part that is read: tasks that have a result of an earlier part, and the places of those of
  // this one.
  std::map<std::uint32_t, std::uint32_t> repeated_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> device_parts_;  // by task and part: records
  std::map<std::uint32_t, RankCalls> ranks_;                                     // by number
  std::vector<Disagreement> disagreements_;
  std::uint64_t overlapping_ = 0;
  PartJournal* current_ = nullptr;
};

}  // namespace msrun
