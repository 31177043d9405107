// What the journal of a run holds, read without a lock and without the dump: for `msrun journal`.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "journal/holder.h"
#include "journal/reader.h"
#include "orchestrator/view/rank_table.h"
#include "runner/results/counts.h"
#include "runner/results/rank_calls.h"
#include "runner/results/stored_results.h"

namespace msrun {

struct JournalContents {
  std::string path;
  std::uint64_t disk_bytes = 0;
  journal::Recovery recovery;
  std::uint64_t calls = 0;          // of the plan, as the metadata have it
  nlohmann::ordered_json metadata;  // null if it is not msrun's
  std::optional<journal::Holder> writer;
  // The last of each call. Those behind the calls of the plan are kept for others of the recording.
  StoredResults results;
  std::uint64_t finished = 0;  // results of planned calls
  std::uint64_t kept = 0;      // of the others
  std::uint64_t replaced = 0;
  std::uint64_t waiting = 0;  // calls that some devices have run, and not yet all that are to
  std::uint64_t attempt_notes = 0;
  std::uint64_t unreadable = 0;
  std::optional<double> started;  // seconds since 1970
  std::optional<double> first_result;
  std::optional<double> last_result;
  std::vector<RankCalls> ranks;  // of a run over several
  std::vector<RankCounts> rank_counts;
  VerdictCounts counts;
  std::map<int, VerdictCounts> devices;

  // Results of a simulated device are among them; of a program that did not note it, the run was begun on one.
  bool simulated() const;
};

// The calls that have the result of each task, but for the one that it was computed for: "step0/rank1:Torch.matmul.0".
// In the order of ranks; by tasks.
std::vector<std::vector<std::string>> represented_calls(const JournalContents& contents);

// Throws journal::Error for a file that is no journal or cannot be read. Damage is no error.
JournalContents read_journal(const std::string& path);

}  // namespace msrun
