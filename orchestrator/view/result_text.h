// Words about results that the views share.
#pragma once

#include <string>
#include <string_view>

#include "runner/results/result.h"

namespace msrun {

// The first line of a Message that says something, fit for a terminal.
std::string first_line(const std::string& message);

// "no overflow", "normal", "abnormal" or "skip".
std::string_view overflow_verdict(const OverflowFinding& finding);

// "Functional.conv2d" of "Functional.conv2d.3".
std::string api_of(const std::string& name);

}  // namespace msrun
