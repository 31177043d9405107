// What a run found, result by result, and the table that closes it: what is concluded, the APIs to look at first, the
// documented counts, and why calls were not checked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "orchestrator/view/console.h"
#include "runner/results/counts.h"
#include "runner/results/result.h"

namespace msrun {

struct SummaryStyle {
  Paint paint = Paint();
  bool documented_first = false;  // the documented counts come before what msrun adds to them
  // Where a call may stand for those of several ranks: behind the number of calls, what they stand for; and for a task
  // the line that names the ranks, empty for none.
  std::string stand_for = {};
  std::function<std::string(std::uint32_t task)> calls_of = {};
  std::string not_counted = {};  // a sentence on results that are in the files and not in the table
};

class Summary {
 public:
  void add(const ApiResult& result);
  const VerdictCounts& counts() const { return counts_; }
  // How many calls speak against each device (--same-on-all).
  std::map<std::int32_t, std::uint64_t> blamed_devices() const;

  // The closing table, lines of at most 120 columns. reproduce_command is completed with "--only NAME" for each API
  // that is listed; a single word of it that is longer than a line stays whole.
  std::string text(const std::string& reproduce_command, const SummaryStyle& style = {}) const;

 private:
  // All calls of one API ("Functional.conv2d") that are suspicious, and the first of the worst of them.
  struct Finding {
    Status status = Status::warning;
    std::uint32_t task = 0;
    std::string name;
    std::vector<std::string> reason;  // lines
    std::optional<DifferenceMap> map;
    std::uint64_t errors = 0;
    std::uint64_t warnings = 0;
    std::uint64_t passes = 0;
  };

  // All calls that prove little for one reason, and the first of them.
  struct Doubt {
    std::uint32_t task = 0;
    std::string name;
    std::uint64_t count = 0;
  };

  // All calls that speak against one device, and the first of them.
  struct Blame {
    std::uint32_t task = 0;
    std::string name;
    std::uint64_t count = 0;
  };

  // All calls that are SKIP for one reason, and the first of them.
  struct Skipped {
    std::size_t group = 0;  // place in the list of groups, the most surprising first
    std::uint32_t task = 0;
    std::string name;
    std::string reason;
    std::uint64_t count = 0;
  };

  void add_skip(const ApiResult& result);
  void add_doubt(const ApiResult& result);
  void add_blame(const ApiResult& result);
  std::string conclusions_text(const SummaryStyle& summary_style) const;
  std::string findings_text(const std::string& reproduce_command, const SummaryStyle& summary_style) const;
  std::string blames_text(const Paint& paint) const;
  std::string documented_text() const;
  std::string doubts_text() const;
  std::string skips_text(const Paint& paint) const;

  VerdictCounts counts_;
  std::unordered_map<std::string, Finding> findings_;
  std::array<Doubt, weak_evidence_count> doubts_;   // by reason
  std::map<std::int32_t, Blame> blames_;            // by device
  std::unordered_map<std::string, Skipped> skips_;  // by reason, without the name of the call
  std::uint64_t further_skips_ = 0;                 // of reasons beyond those that are kept
};

}  // namespace msrun
