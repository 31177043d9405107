// How results of a simulated device are known where nothing but their Messages tells it: in CSVs without a journal.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "runner/results/reason.h"
#include "runner/results/result.h"

namespace msrun {

// Whether the text, a Message or a whole result file, says that a device was simulated (message_with_reason).
inline bool says_simulated(std::string_view text) {
  return text.find("(" + std::string(simulated_notice) + ")") != std::string_view::npos;
}

// A call that agrees has no Message, but the same device as the others of its file: where one says that it was
// simulated, all that were checked were.
inline void mark_simulated(std::vector<ApiResult>& results) {
  const auto says = [](const ApiResult& result) { return says_simulated(result.message); };
  if (std::none_of(results.begin(), results.end(), says)) return;
  for (ApiResult& result : results) {
    if (result.outcome == Outcome::checked) result.tested_on = TestedOn::simulated;
  }
}

}  // namespace msrun
