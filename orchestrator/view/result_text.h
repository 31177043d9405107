// Words about results that the views share.
#pragma once

#include <string_view>

#include "runner/results/result.h"

namespace msrun {

// "no overflow", "normal", "abnormal" or "skip".
std::string_view overflow_verdict(const OverflowFinding& finding);

}  // namespace msrun
