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

// What a device gave for a call, as checksums (runner/check/checksums.h); 0 stands for a value that is not there.
struct Checksums {
  std::vector<std::uint64_t> outputs;    // of the leaves of the compared output, depth first
  std::vector<std::uint64_t> gradients;  // of the tensors among the arguments, in the order of DeviceResult::gradients
  bool operator==(const Checksums&) const = default;
};

// What several runs of a call on one device with the same inputs have shown.
struct Repeats {
  std::uint32_t runs = 1;
  std::uint32_t different = 0;  // of these: whose bits are not those of most of them
  bool may_vary = false;        // they differ only where the operator is declared to (OperatorTraits::varies)
  std::string output = {};      // the first that differs, "forward.output.0"; empty if none does
  std::string problem = {};     // why one of the runs behind the first gave nothing; empty if all gave something
};

// What one device gave for a call that ran on several.
struct DeviceAnswer {
  std::int32_t device = 0;
  std::uint64_t digest = 0;  // of its checksums; 0 if it did not run the call
  bool blamed = false;
};

// What the answers of several devices to one call have shown.
struct Agreement {
  // All are the same; they differ where the operator is declared to vary; they differ, and nothing tells who is wrong;
  // some devices are to blame.
  enum class Verdict : std::uint8_t { same, may_vary, undecided, blamed };
  Verdict verdict = Verdict::same;
  std::string output;                 // the first that differs; empty if none does
  std::string reason;                 // what speaks against those that are blamed; empty if they are the fewer
  std::vector<DeviceAnswer> answers;  // by rising id
};

// When a call ran, and on which thread.
struct RunTime {
  std::uint32_t thread = 0;  // of its device's, counted from 0
  std::uint64_t began = 0;   // microseconds since 1970; 0: not known
  std::uint64_t took = 0;    // microseconds
};

// A tensor that a call was given, for people.
struct InputNote {
  std::string name;             // "args.0", "kwargs.weight", "grad.0"
  std::string dtype;            // "float32"
  std::string shape;            // "(2, 3)"
  std::optional<double> least;  // of its finite elements; nothing if there are none, or they are not known
  std::optional<double> most;
  bool is_finite = true;  // so are all of its elements, as far as is known
};

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
  WeakEvidence weak_evidence = WeakEvidence::none;
  PhaseTimes times;
  std::uint64_t inputs = 0;  // input_checksum(); 0 for a call whose inputs were not built
  Checksums checksums;       // of the device's first run; empty if it gave nothing
  std::optional<Repeats> repeats;
  std::optional<Agreement> agreement;
  RunTime run;
  // What a call was given that is a warning or an error, suspicious, or failed to run; of a pass nobody asks.
  std::vector<InputNote> input_notes;
  // Why its tensors, which were to be kept, could not be; empty where they were, or none were to be.
  std::string unsaved;
  // What run_overflow_check found, and it alone. message then says it in words; forward is pass, error or SKIP.
  std::optional<OverflowFinding> overflow;
};

// Sets what follows from the rows of a result and its statuses: rounding_only, beyond_rounding, weak_evidence where a
// row has a reason for it or the backward was not checked. A status that no row accounts for, as dropout has, is
// explained only if chance makes such shares of zeros.
void conclude_from_rows(ApiResult& result, bool shares_by_chance = false);

// The forward was checked, and the backward was not: it is SKIP, and did not fail to run; or one of its gradients is.
bool has_unchecked_backward(const ApiResult& result);

// The backward was not checked because a rule of the pre-check leaves it out (OperatorTraits::backward_refusal), by the
// reason.
bool is_backward_left_out(const ApiResult& result);

// The whole-API SKIP: SKIP, SKIP and one details row with the reason.
ApiResult skip_result(std::uint32_t task, std::string name, const std::string& reason, Outcome outcome);

// The outcome that a result without one must have had, by its statuses and the reasons that msrun gives: for files that
// know SKIP alone, and for records of before there were outcomes. Which calls a rule skips only the plan knows: they
// are not_checkable here.
Outcome outcome_by_reason(const ApiResult& result);

}  // namespace msrun
