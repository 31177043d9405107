// `msrun journal PATH --why CALL`: which rules of the judge were asked of a call's results, and which ended it.
#pragma once

#include <string>

#include "runner/results/result.h"

namespace msrun {

// Of every output and gradient of a result, for a reader.
std::string why_text(const ApiResult& result);

}  // namespace msrun
