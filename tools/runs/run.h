// A run of the pre-check that is over, read from what it left behind: for the tools that compare and show runs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "journal/run_files.h"
#include "runner/results/stored_results.h"

namespace msrun::runs {

struct Run {
  std::string path;  // as it was named
  RunFiles files;    // those of the run, whether or not they are there
  // Which of several ranks it is looked at for, as if this rank had been checked alone; empty: all of the run.
  std::string rank;
  // Everything is known: inputs, outcomes, checksums. Else the run is known by its CSVs alone.
  bool has_journal = false;
  // The journal's header ("version", "fingerprint", "arguments", "backend", ...); null without one.
  nlohmann::ordered_json metadata;
  // By place in the recording; of CSVs by place in the result file, where task counts the rows. The last of each call
  // counts. Results that are no part of the plan (journal metadata "kept") stand behind those that are.
  StoredResults results;
  std::uint64_t planned = 0;      // calls of the plan, of a part those of the part; of CSVs the rows
  std::optional<double> started;  // seconds since 1970, as far as the journal says it
  std::optional<double> ended;
  std::vector<std::string> notes;  // what is odd about the files, one sentence each
  // Whether warnings and errors that rounding explains are told from others, and whether there are rows for outputs:
  // not in all CSVs.
  bool judges_rounding = true;
  bool has_details = true;

  bool is_complete() const { return results.count() >= planned; }
};

struct FoundRun {
  RunFiles files;
  std::string rank;  // as that of a Run
};

// The files of the run that path names: a folder, of which the newest run is taken, or a file of a run. A folder whose
// newest run is of one part of a recording is refused, unless it holds no other run. A journal or a
// result file may have a name of its own; its report is then named after it. Throws UserError, one line, for what is
// none of them. The details of a result file with a name of its own are those beside it that say "details" for
// "result"; of a folder without a run it is the newest *_result_<time>.csv that counts, as api_precision_compare has
// it.
// The CSV of one of several ranks, and the folder with it, names the run of that rank: its files are those of the
// rank's folder, but for the journal, which is that of all ranks.
FoundRun find_run(const std::string& path);

// Whether the run has a journal, which knows all that its CSVs do and more.
bool has_journal(const RunFiles& files);

// Refuses an output that would replace a file of the run or the recording that its journal names, or a recording or a
// file of any other run (journal/replaceable.h), or that leads to no regular file. Only who makes the report of the run
// again may replace it. Throws UserError.
enum class RunReport : std::uint8_t { is_kept, is_made_again };
void check_apart_from_run(const std::string& option, const std::string& written, const RunFiles& files,
                          RunReport report = RunReport::is_kept);

// Reads the run that path names: its journal if there is one, else its CSVs, also those of the Python tool. Throws
// UserError that names the file and the cause.
Run read_run(const std::string& path);

}  // namespace msrun::runs
