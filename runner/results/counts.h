// Results counted by verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runner/results/result.h"

namespace msrun {

// Counts of calls by the rules of acc_check_pytorch.md 13.2: every call is in exactly one of pass, warning, error and
// skip.
struct VerdictCounts {
  std::uint64_t pass = 0;
  std::uint64_t warning = 0;
  std::uint64_t error = 0;
  std::uint64_t skip = 0;           // forward is SKIP
  std::uint64_t forward_error = 0;  // these three are the parts of error
  std::uint64_t backward_error = 0;
  std::uint64_t both_error = 0;
  std::uint64_t rounding_only = 0;  // of warning and error: rounding explains them; the rest is suspicious

  void add(const ApiResult& result);
  std::uint64_t total() const { return pass + warning + error; }
  std::uint64_t suspicious() const { return warning + error - rounding_only; }
  std::string passing_rate() const;  // "93.75%", "0%" if nothing was judged
};

// The verdict of a call as a whole: where VerdictCounts puts it.
Status overall_status(Status forward, std::optional<Status> backward);

}  // namespace msrun
