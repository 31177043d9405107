// The result of one API call: what a runner sends, the journal keeps and the CSVs render. fields.h lists its fields for
// whatever stores it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

// What became of a call. The documented files know SKIP alone for all that is not checked; whether that was to be
// expected, or a device or host failed, they leave to the Message.
enum class Outcome : std::uint8_t {
  checked,          // there is a verdict
  skipped_by_rule,  // SKIP: a rule of the pre-check, or the user's lists, leave the call out
  not_checkable,    // SKIP: what was recorded cannot be checked, whatever the device
  failed_to_run,  // SKIP, of the whole call or of its backward: a crash, a time-out, want of memory, an internal error
};

// "checked", "skipped_by_rule", "not_checkable", "failed_to_run".
std::string_view outcome_text(Outcome outcome);

// Which kind of device a result is from. Runs may be continued on another one.
enum class TestedOn : std::uint8_t {
  unknown,    // of a program that did not say it, or no device had the call
  simulated,  // a model of a device, which says nothing about any NPU or GPU
  recorded,   // the results in the recording
  hardware,
};

// "simulated", "recorded", "hardware"; "" for unknown.
std::string_view tested_on_text(TestedOn tested_on);

struct ApiResult {
  std::uint32_t task = 0;    // place of the call in the dump, counting forward entries from 0
  std::string name;          // "Functional.relu.0", as in the result file
  std::int32_t device = -1;  // the -d id it ran on; -1 if it ran on none (SKIP by rule)
  Status forward = Status::skip;
  std::optional<Status> backward;  // nothing: one space in the result file
  Outcome outcome = Outcome::checked;
  TestedOn tested_on = TestedOn::unknown;
  std::string message;  // fourth field of the result row, written where forward or backward is SKIP
  std::vector<DetailsRow> forward_rows;
  std::vector<DetailsRow> backward_rows;
  // Warning or error, and rounding explains every row that is (DetailsRow::rounding_only).
  bool rounding_only = false;
  // An output is further from the benchmark than rounding leads, whatever its status (DetailsRow::beyond_rounding).
  bool beyond_rounding = false;
  // Why a verdict without complaint proves little: the first reason among the rows.
  Mistrust mistrust = Mistrust::none;
  PhaseTimes times;
  std::uint64_t inputs = 0;  // input_checksum(); 0 for a call whose inputs were not built
  // Of run_overflow_check alone. message then says it in words; forward is pass, error or SKIP.
  std::optional<OverflowFinding> overflow;
};

// Sets what follows from the rows of a result: rounding_only, beyond_rounding, mistrust where a row has a reason for
// it. A status that no row accounts for, as dropout has, is not explained by rounding.
void conclude_from_rows(ApiResult& result);

// The whole-API SKIP: SKIP, SKIP and one details row with the reason.
ApiResult skip_result(std::uint32_t task, std::string name, const std::string& reason, Outcome outcome);

// The outcome that a result without one must have had, by its statuses and the reasons that msrun gives: for files that
// know SKIP alone, and for records of before there were outcomes. Which calls a rule skips only the plan knows: they
// are not_checkable here.
Outcome outcome_by_reason(const ApiResult& result);

}  // namespace msrun
