// One output by one standard: the values that the standard asks for, their ratios to the GPU's where it compares with
// those, the limits, and the texts that say which was exceeded (precision_metrics.md 10.5).
#pragma once

#include <span>
#include <string_view>

#include "tools/api_precision_compare/judge.h"
#include "tools/api_precision_compare/row_values.h"

namespace msrun::api_precision_compare {

// The columns that hold the values of a standard.
std::span<const Metric> inputs(Standard standard);

// Fills standard, status, columns, message and worst of judgement, which must be empty. A value that is needed and
// missing makes the output a SKIP; upstream's rules take some of them for zero, and throw RowError for others.
void judge_by_standard(Standard standard, std::string_view api, const OutputRow& npu, const OutputRow& gpu,
                       const Rules& rules, Judgement& judgement);

}  // namespace msrun::api_precision_compare
