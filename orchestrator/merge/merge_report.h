// What msrun merge says: which host and device gave what, what is missing and how to get it, where parts disagree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "journal/run_files.h"
#include "orchestrator/merge/merged_results.h"
#include "orchestrator/merge/part_journal.h"
#include "orchestrator/view/rank_table.h"
#include "orchestrator/view/summary.h"

namespace msrun {

struct Merged {
  std::string program;  // as msrun was started
  RunFiles files;       // of the merged run
  std::vector<PartJournal> parts;
  LeftOut left_out;
  std::uint64_t calls = 0;        // of the recording
  std::uint64_t finished = 0;     // that have a result
  std::uint64_t overlapping = 0;  // results of calls that an earlier part has one of, too
  std::vector<Disagreement> disagreements;
  Summary summary;
  std::vector<RankCounts> ranks;  // of a run over several, whose CSVs are in folders of their own
};

std::string merge_text(const Merged& merged);
// One object and a line end.
std::string merge_json(const Merged& merged, int exit_code);

}  // namespace msrun
