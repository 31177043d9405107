// What has changed between two runs over one recording, call by call and output by output.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/runs/run.h"

namespace msrun::run_diff {

// What became of a call, or of one output, between run A and run B; the first that is true counts.
enum class Change : std::uint8_t {
  appeared,        // suspicious or failed to run in B, and not so in A or worse than there
  still,           // a problem in both
  not_comparable,  // other inputs, or options that change the judgement
  removed,         // B does not have the call
  added,           // A does not have it
  status,          // no problem in either, but another status or state
  metrics,         // another number, dtype or shape in the details file
  bits,            // the device gave other bits, and nothing else tells of it
  fixed,           // a problem in A, and checked without one in B
  same,
};
inline constexpr std::size_t change_count = 10;

// "new", "still", "not comparable", "removed", "added", "changed status", ..., "same".
std::string_view change_text(Change change);

// How a call, or an output, stands in one run.
enum class State : std::uint8_t {
  pass,
  proves_little,  // agrees where nothing else could be expected
  rounding,       // warning or error that rounding explains
  suspicious,     // rounding does not explain it
  failed_to_run,
  not_checkable,
  skipped_by_rule,
  warning,  // these three where a run without journal is compared, by status alone
  error,
  skip,
  absent,  // the run does not have it
};

// "pass", "proves little", ..., "SKIP by rule", "warning", "error", "SKIP", "not there".
std::string_view state_text(State state);

struct Standing {
  State state = State::absent;
  std::string forward;   // status as in the result file; of an output its status; empty if absent
  std::string backward;  // empty if there is none
};

struct MetricChange {
  std::string metric;  // title in English; "dtype", "shape"
  std::string before;
  std::string after;
};

struct OutputChange {
  std::string output;  // "forward.output.0"
  Change change = Change::same;
  Standing before;
  Standing after;
  std::vector<MetricChange> metrics;
  bool other_bits = false;
};

struct CallChange {
  std::string name;
  std::uint32_t place = 0;  // in the recording, as B has it, or else A
  Change change = Change::same;
  Standing before;
  Standing after;
  std::string reason;                 // in words, for who looks at it first; may be empty
  std::vector<OutputChange> outputs;  // that are not the same
  bool other_bits = false;
};

// What both runs have in common, and what they do not.
struct RunsFacts {
  std::vector<std::string> other_options;  // "seed (1234 in A, 7 in B)"
  bool judged_otherwise = false;           // one of them changes how results are judged: nothing is comparable
  bool by_status = false;                  // a run without journal is one of them
};

struct Comparison {
  RunsFacts facts;
  std::vector<CallChange> calls;  // worst first; those of one kind in the order of the recording
  std::array<std::size_t, change_count> counts{};
  // Calls that were checked, or failed to run, in both runs, and are comparable: where there are none, it means nothing
  // that nothing is new.
  std::size_t compared = 0;

  std::size_t count(Change change) const { return counts[static_cast<std::size_t>(change)]; }
};

Comparison compare(const runs::Run& a, const runs::Run& b);

}  // namespace msrun::run_diff
