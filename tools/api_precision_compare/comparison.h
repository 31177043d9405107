// The whole comparison of two details files: every NPU row beside the GPU row of its name, the verdicts per API, and
// both output files (precision_metrics.md 10.3, 10.7, 10.8). The GPU's rows are indexed by name, the NPU's stream by,
// so time is linear.
//
// By default every output of either file is listed once and every API has one row in the result file; --compat msprobe
// goes through the rows as upstream does, which stops at the first bad one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/api_precision_compare/judge.h"

namespace msrun::api_precision_compare {

// How many APIs have each verdict in one direction, in the order of Status; none is for those without that direction.
struct DirectionCounts {
  std::array<std::uint64_t, 4> with{};
  std::uint64_t none = 0;

  std::uint64_t operator[](Status status) const { return with[static_cast<std::size_t>(status)]; }
};

// The calls of one API ("Functional.conv2d") that failed, and the worst output among them.
struct Finding {
  std::string output;  // "Functional.conv2d.3.forward.output.0"
  std::string reason;
  double excess = 0;
  std::uint64_t outputs = 0;  // that failed
};

struct Report {
  std::string details_path;
  std::string result_path;
  DirectionCounts forward;
  DirectionCounts backward;
  std::uint64_t outputs = 0;          // rows of the details file
  std::uint64_t compared = 0;         // of them: rows that both files have
  std::uint64_t judged = 0;           // of these: not SKIP
  std::uint64_t unreadable = 0;       // of these: SKIP, because a value that is needed is no number
  std::string first_unreadable;       // name and values
  std::uint64_t only_npu = 0;         // outputs without a GPU row
  std::uint64_t only_gpu = 0;         // the other way round
  std::vector<Finding> findings;      // the worst first
  std::vector<std::string> problems;  // of the input: what was wrong with which row, at most max_problems
  std::uint64_t problem_count = 0;
  bool stopped = false;  // at a bad row, as upstream does

  static constexpr std::size_t max_problems = 10;
};

// Writes api_precision_compare_details_<stamp>.csv and api_precision_compare_result_<stamp>.csv into directory, which
// must exist. Throws UserError for files that cannot be used, and then leaves no file behind.
Report compare(const std::string& npu_path, const std::string& gpu_path, const std::string& directory,
               const Rules& rules);

}  // namespace msrun::api_precision_compare
