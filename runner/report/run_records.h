// What a run has left behind, for the page that shows it: its journal, or without one its results alone.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "journal/file.h"
#include "runner/report/call_results.h"
#include "runner/results/counts.h"
#include "runner/results/record.h"
#include "runner/results/run_header.h"

namespace msrun::report {

// A stretch of time in which a thread was at a call, in microseconds since 1970.
struct Interval {
  std::int32_t device = 0;
  std::uint32_t thread = 0;
  std::uint64_t began = 0;
  std::uint64_t took = 0;
  std::uint32_t task = 0;
  std::uint32_t session = 0;  // supervisors that had begun before
};

struct Death {
  DeathNote note;
  std::uint32_t session = 0;
};

// What files other than a journal know of a run.
struct Sources {
  std::vector<std::string> files;  // their names; empty: the run has a journal
  std::vector<std::string> notes;  // what is odd about them, a sentence each
  // Whether warnings and errors that rounding explains are told from others.
  bool judges_rounding = true;
};

struct RunRecords {
  std::string checked_folder;       // of a rank the folder with the recordings of all, as the run was given it
  std::string rank;                 // of several the one whose records these are; empty: those of the whole run
  nlohmann::ordered_json metadata;  // of the journal's header; an empty object if they are not msrun's
  Sources sources;
  std::uint64_t planned = 0;  // calls of the plan
  PartOfRun part;             // of them, where others check the rest
  // The last of each call of the plan; those of calls that the options of the run leave out are not among them.
  CallResults results;
  StoredResults kept;  // these, by their place behind the plan; of a rank none
  VerdictCounts counts;
  std::uint64_t finished = 0;       // calls of the plan that have a result
  std::vector<Interval> intervals;  // in the order of the journal
  std::vector<Death> deaths;
  std::uint32_t sessions = 0;          // supervisors that have worked on the run
  std::optional<double> first_result;  // seconds since 1970
  std::optional<double> last_result;
  std::string losses;  // what of the journal is lost, in words; empty: nothing
};

// Calls of the run that have no result yet; none where nobody knows which are its own.
std::uint64_t missing_calls(const RunRecords& records);

// rank: of a run over several the one whose records are wanted; empty: all. Throws journal::Error for what is no
// journal or cannot be read, and UserError for a journal that does not say which calls the rank has. Damage is no
// error.
RunRecords read_run_records(const journal::Source& source, const std::string& rank = {});

// The records of a run that is known by its results alone, each of a task below results.tasks().
RunRecords records_of_results(StoredResults results, Sources sources);

}  // namespace msrun::report
