// Why a call is a warning or an error, in few words: its worst row, for those who read results one line each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/results/result.h"

namespace msrun {

// What a run on a simulated device is said to be, wherever its results are shown.
inline constexpr std::string_view simulated_notice = "simulated device; no NPU or GPU was tested";

// The first line of a Message that says something, fit for a terminal.
std::string first_line(const std::string& message);

struct Reason {
  std::string output;               // "forward.output.0", "backward.output.2"; empty if no row says why
  std::vector<std::string> lines;   // one or more, fit for a terminal
  const DetailsRow* row = nullptr;  // that of the output, in the result; null if no row says why
};

// The reason of a result that is warning or error: what is said of its first row of that status, one that rounding does
// not explain before those that it explains.
Reason reason_of(const ApiResult& result);

// "forward.output.0: Not explained by rounding: ...", the lines of the reason as one.
std::string reason_text(const Reason& reason);

// What is to be said of a result that is not the same in every run, or on every device; empty if there is nothing. fit
// for a terminal.
std::vector<std::string> consistency_lines(const ApiResult& result);

// How a Message of the result file begins that says why: of a call that is suspicious, of one that rounding explains.
inline constexpr std::string_view suspicious_mark = "Suspicious: ";
inline constexpr std::string_view rounding_mark = "Rounding: ";

// The Message of the result file: of a warning or error its mark and the reason, then why a
// direction is SKIP or a gradient is not checked, then that the device was simulated. A pass has
// none but for a gradient that is not checked, and where runs or devices differ.
std::string message_with_reason(const ApiResult& result);

// A number of units in the last place for a reader: "12", "2.3e+04", above a million "more than 1e6".
std::string ulp_text(double ulps);

}  // namespace msrun
