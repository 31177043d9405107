// One result of a journal as JSON, with all that is known about it.
#pragma once

#include <nlohmann/json.hpp>

#include "runner/results/result.h"

namespace msrun {

// The members are those that `msrun journal --export` writes.
nlohmann::ordered_json result_json(const ApiResult& result);

}  // namespace msrun
