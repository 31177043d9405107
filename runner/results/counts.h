// Results counted by verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runner/results/result.h"

namespace msrun {

// Counts of calls by the rules of acc_check_pytorch.md 13.2: every call is in exactly one of pass, warning, error and
// skip. A call whose backward failed to run is a skip, unless its forward is an error.
struct VerdictCounts {
  std::uint64_t pass = 0;
  std::uint64_t warning = 0;
  std::uint64_t error = 0;
  std::uint64_t skip = 0;  // not checked; the next two are parts of it, and so is what failed to run
  std::uint64_t skipped_by_rule = 0;
  std::uint64_t not_checkable = 0;
  std::uint64_t failed_to_run = 0;  // skip, or error in the forward
  std::uint64_t forward_error = 0;  // these three are the parts of error
  std::uint64_t backward_error = 0;
  std::uint64_t both_error = 0;
  std::uint64_t simulated = 0;           // of all: from a simulated device
  std::uint64_t not_simulated = 0;       // of all: from a recording or a device
  std::uint64_t rounding_only = 0;       // of warning and error: rounding explains them; the rest is suspicious
  std::uint64_t beyond_rounding = 0;     // of pass: rounding does not lead there; they are suspicious, too
  std::uint64_t weak = 0;                // neither suspicious nor skip, but they prove little
  std::uint64_t nothing_compared = 0;    // of pass: the call has no output that can be compared
  std::uint64_t backward_alone = 0;      // of skip: the backward was checked all the same
  std::uint64_t suspicious_skips = 0;    // of these: rounding does not explain it
  std::uint64_t backward_unchecked = 0;  // not skip: their backward could not be checked, and no rule leaves it out

  std::uint64_t unsteady = 0;           // runs of theirs on one device differ
  std::uint64_t devices_differ = 0;     // devices give them different bits
  std::uint64_t varying = 0;            // runs or devices differ where the operator is declared to
  std::uint64_t only_inconsistent = 0;  // suspicious for one of the first two of these alone

  void add(const ApiResult& result);
  // Calls with a verdict.
  std::uint64_t total() const { return pass + warning + error; }
  // Calls of which something was compared.
  std::uint64_t compared() const { return total() - nothing_compared + backward_alone; }
  std::uint64_t suspicious() const {
    return warning + error - rounding_only + beyond_rounding + only_inconsistent + suspicious_skips;
  }
  // "93.75%" of the calls with a verdict and of those that failed to run; "0%" if there is neither.
  std::string passing_rate() const;
};

// The verdict of a call as a whole: where VerdictCounts puts it.
Status overall_status(const ApiResult& result);

// A warning or error that rounding does not explain, a pass with an output further from the benchmark than rounding
// leads, or a call that the device does not compute the same each time, or devices do not compute alike.
bool is_suspicious(const ApiResult& result);

// The part of these that the benchmark speaks against. A call whose forward is SKIP is among them if its backward is.
bool is_suspicious_by_values(const ApiResult& result);

// Runs of the call on one device gave different bits, and its operator is not declared to vary.
bool is_unsteady(const ApiResult& result);

// Devices gave different bits for the call, and its operator is not declared to vary; or one of them did not run what
// others ran.
bool differs_between_devices(const ApiResult& result);

// Runs or devices differ where the operator is declared to vary: worth a word, and nobody's fault.
bool varies_as_declared(const ApiResult& result);

// Nothing speaks against the call, but an output of it proves little (ApiResult::weak_evidence).
bool is_weak_evidence(const ApiResult& result);

}  // namespace msrun
