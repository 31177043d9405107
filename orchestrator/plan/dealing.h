// Deals the calls of a plan to parts that cost about the same, for hosts that share them: the same on every host
// without a word between them.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/shared/plan_view.h"

namespace msrun {

// For each task the part, below parts, that it belongs to; parts is at least 1. By falling cost, equal ones in dump
// order, each to the part that has cost least so far, the first of equal ones: no part costs more than the mean by more
// than one call. Computed in whole nanoseconds, so that it does not depend on the order of a sum.
std::vector<std::uint32_t> deal(const PlanView& plan, std::uint32_t parts);

}  // namespace msrun
