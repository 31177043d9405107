// What the numbers of a row that nothing explains tell about the cause.
//
// It is named by the pattern of the differences, or because the call, computed once more with another arithmetic
// (float16 accumulation, HF32 operands, flushed denormals) or another argument, gives the device's result.
#pragma once

#include <string>

#include "kernels/compare/diagnosis/difference_map.h"
#include "runner/judge/explanation.h"
#include "runner/judge/row_case.h"

namespace msrun {

// One sentence; empty where the evidence is weak.
std::string finding(const RowCase& row, const DifferenceMap& map, const Explanation& judged);

// other_calls.cpp: a sentence that names the altered call (altered_calls.h) of which a row is the result; empty if
// there is none.
std::string altered_call(const RowCase& row, const Explanation& judged);
// The same of calls with another number in place of one, which is looked for.
std::string other_number(const RowCase& row, const Explanation& judged);
// The same of what is taken of half of each row: statistics of norms, sums of a softmax.
std::string half_of_rows(const RowCase& row);

}  // namespace msrun
