// A call that was recorded under autocast, as it is judged: autocast has cast float32 arguments to a half type before
// anything was computed, and what the cast leaves of them is exact. The documented benchmark, which Statuses and
// metrics are of, takes the arguments as they were recorded, so that every element is off by the rounding of the
// arguments.
#pragma once

#include <optional>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/compare/compare.h"
#include "kernels/evaluate/evaluate.h"

namespace msrun {

struct LoweredCall {
  MaterialisedCall call;  // its arguments in the half type
  Evaluation bench;

  // Nothing for calls that autocast does not lower, or has lowered only in part: processors compute some steps of cells
  // in the half type, and others in float32, as a recorded float32 result shows. Nothing also where there is no memory.
  static std::optional<LoweredCall> of(const Operator& op, const MaterialisedCall& call,
                                       const EvaluationOptions& benchmark);

  // Puts the values of this benchmark, one leaf per row, into the pairs of a comparison. Rows stay as they are.
  static void judge_by(const std::vector<Value>& values, Comparison& comparison);
};

}  // namespace msrun
