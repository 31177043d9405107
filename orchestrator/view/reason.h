// Why a call has its verdict, for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/results/result.h"

namespace msrun {

// One line or more, without the name of the call: its first row that has this status and that rounding does not
// explain, else its first that has the status.
std::vector<std::string> reason_of(const ApiResult& result, Status status);

// The first line of a Message that says something, fit for a terminal.
std::string first_line(const std::string& message);

// "no overflow", "normal", "abnormal" or "skip".
std::string_view overflow_verdict(const OverflowFinding& finding);

// "Functional.conv2d" of "Functional.conv2d.3".
std::string api_of(const std::string& name);

}  // namespace msrun
