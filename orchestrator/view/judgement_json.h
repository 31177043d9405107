// Which rules decided of the outputs of a call (runner/judge/rules.h), as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "runner/results/result.h"

namespace msrun {

// {"explained": true, "rule": "noise", "rule_code": 17, "veto": null, "veto_code": null}: whether a rule explains the
// row, which was the last that was asked, and what refuses the row all the same. Null of a pass that needed no
// more than a glance, and of a row that is not judged by rules.
nlohmann::ordered_json judgement_json(const DetailsRow& row);

// One entry for each output of the call that has one, by the name that the details file gives it.
nlohmann::ordered_json judgements_json(const ApiResult& result);

}  // namespace msrun
