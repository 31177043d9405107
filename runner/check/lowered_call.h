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
  // The half type, of a call that was lowered in part, as a float32 result shows: processors compute the products of a
  // recurrent cell in the half type, and go on in float32. Such results have no more digits than the half type.
  std::optional<DType> in_part;

  // Nothing for calls that autocast does not lower, and where the operator refuses such arguments.
  static std::optional<LoweredCall> of(const Operator& op, const MaterialisedCall& call,
                                       const EvaluationOptions& benchmark);

  // Puts the values of this benchmark, one leaf per row, into the pairs of a comparison. Rows stay as they are.
  void judge(const std::vector<Value>& values, Comparison& comparison) const;
};

}  // namespace msrun
