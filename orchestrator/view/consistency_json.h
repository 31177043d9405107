// Whether a call is the same in every run and on every device, as JSON; the members are those of docs/events.md.
#pragma once

#include <nlohmann/json.hpp>

#include "runner/results/result.h"

namespace msrun {

// {"outputs": ["..."], "gradients": [null, "..."]}, sixteen hexadecimal digits each; null if the device gave nothing.
nlohmann::ordered_json checksums_json(const ApiResult& result);

// Null without --repeat.
nlohmann::ordered_json repeats_json(const ApiResult& result);

// Null without --same-on-all.
nlohmann::ordered_json agreement_json(const ApiResult& result);

}  // namespace msrun
