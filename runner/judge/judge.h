// Why a result differs: whether rounding explains a warning or error, and if not, what the numbers tell about the
// cause.
//
// The statuses stay as the documented limits have them. Rules are asked in their order (rules.h) how much error sound
// arithmetic may make in a row; the first whose allowance covers every element explains it. Vetoes (vetoes.h) may still
// object. A row that rounding explains is marked (rounding_only) and says so in its Message; any other row says how far
// it is from explained and, where the evidence is strong, why (causes.h). What is computed once more is bounded by the
// call's size alone, so that the same recording always gets the same Messages.
#pragma once

#include <functional>
#include <vector>

#include "kernels/compare/compare.h"
#include "runner/judge/explanation.h"
#include "runner/judge/row_case.h"

namespace msrun {

// The values that were compared, of an evaluation of the call, one leaf per row.
using Select = std::function<std::vector<Value>(const Evaluation&)>;

// Judges the rows of one direction. silent leaves the Messages, and passes, as they are.
void judge(CallCase& call, Comparison& comparison, const SumStatistics& sums, const Select& select, bool silent);

// What the rules explain of a row. The benchmark of the row gets the sides of steps that the device is on.
Explanation explained(RowCase& row);

}  // namespace msrun
