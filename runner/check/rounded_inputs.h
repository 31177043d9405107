// Recorded results of calls whose inputs the pre-check rounds to HF32: which inputs they belong to.
#pragma once

#include "runner/results/result.h"

namespace msrun {

// No row of a result is suspicious, or within what rounding does alone.
bool needs_no_explanation(const ApiResult& result);

// Of two checks of a recorded result, with inputs that are rounded to HF32 and with inputs that are not, each direction
// stays in `unrounded` that is clean there alone, or nearer to the benchmark where the other needs an explanation, or
// of which fewer elements are wrong where neither is clean; any other is put there from `rounded`.
void keep_what_agrees(ApiResult& rounded, ApiResult& unrounded);

}  // namespace msrun
