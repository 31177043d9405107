// What the page says of one call that is suspicious, or failed to run: outputs with their metrics and limits, where
// they are wrong, by how much, and what the call was given.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "runner/report/redaction.h"
#include "runner/results/result.h"

namespace msrun::report {

// max_abs_error is the limit of MindSpore's comparison, where it is known.
nlohmann::json call_details(const ApiResult& result, std::optional<double> max_abs_error, const Redaction& redaction);

}  // namespace msrun::report
