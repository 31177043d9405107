// The result of one API call: what a runner sends, the journal keeps and the CSVs render. fields.h lists its fields for
// whatever stores it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/compare/details.h"

namespace msrun {

// Where the time of one call went, in nanoseconds.
struct PhaseTimes {
  std::uint64_t materialise = 0;
  std::uint64_t device = 0;
  std::uint64_t benchmark = 0;
  std::uint64_t compare = 0;
};

// What run_overflow_check found.
struct OverflowFinding {
  enum class Verdict : std::uint8_t { normal, abnormal, not_judged };
  Verdict verdict = Verdict::normal;
  bool bench = false;  // the output overflows on the CPU
  bool device = false;
  bool is_none() const { return verdict == Verdict::normal && !bench && !device; }
};

struct ApiResult {
  std::uint32_t task = 0;    // place of the call in the dump, counting forward entries from 0
  std::string name;          // "Functional.relu.0", as in the result file
  std::int32_t device = -1;  // the -d id it ran on; -1 if it ran on none (SKIP by rule)
  Status forward = Status::skip;
  std::optional<Status> backward;  // nothing: one space in the result file
  std::string message;             // fourth field of the result row, written where forward or backward is SKIP
  std::vector<DetailsRow> forward_rows;
  std::vector<DetailsRow> backward_rows;
  // Warning or error, and rounding explains every row that is (DetailsRow::rounding_only).
  bool rounding_only = false;
  PhaseTimes times;
  std::uint64_t inputs = 0;  // input_checksum(); 0 for a call whose inputs were not built
  // Of run_overflow_check alone. message then says it in words; forward is pass, error or SKIP.
  std::optional<OverflowFinding> overflow;
};

// Whether the rows of a result that is warning or error are all explained by rounding: a status without such a row,
// as dropout has, is not.
bool explained_by_rounding(const ApiResult& result);

// The whole-API SKIP: SKIP, SKIP and one details row with the reason.
ApiResult skip_result(std::uint32_t task, std::string name, const std::string& reason);

}  // namespace msrun
