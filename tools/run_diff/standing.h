// How calls and outputs stand in one run, and which of two standings is worse.
#pragma once

#include "kernels/compare/details.h"
#include "runner/results/result.h"
#include "tools/run_diff/compare.h"

namespace msrun::run_diff {

Standing standing_of(const ApiResult& result, bool by_status);
Standing standing_of(const DetailsRow& row, bool by_status);

// Somebody has to look at it.
bool is_problem(State state);
// The device was asked, and the answer judged.
bool is_checked(State state);

// What became of it. Nothing but status and state is looked at.
Change change_between(const Standing& before, const Standing& after);

}  // namespace msrun::run_diff
