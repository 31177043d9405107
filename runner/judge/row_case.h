// One output or gradient that is judged: its call, its tensors, and where it is in another evaluation of the call.
#pragma once

#include <optional>

#include "kernels/compare/compare.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/numeric/sums.h"
#include "runner/device/device.h"
#include "runner/judge/variations.h"

namespace msrun {

// What all rows of a call have in common.
struct CallCase {
  // bench is the benchmark of the call, made with these options. All of them outlive it. device is what the device says
  // of its arithmetic.
  CallCase(const Operator& of, const MaterialisedCall& call, const Evaluation& bench, const EvaluationOptions& options,
           const DeviceArithmetic& device);

  const Operator& op;
  const MaterialisedCall& materialised;
  const EvaluationOptions& benchmark_options;
  const DeviceArithmetic arithmetic;
  const Tensor terms;            // behind a result without tensors among its arguments; undefined: they are measured
  const bool takes_positions;    // a position that is rounded moves a whole row or column of a result
  const bool rounds_once;        // so that the nearest number is to be expected
  const bool complex_arguments;  // of which the magnitude is computed, not copied
  Variations variations;
};

// To what the device may round the operands of products and convolutions within the operator.
OperandRounding operands_of(const CallCase& call);

struct RowCase {
  CallCase& call;
  Comparison::Pair pair;  // both floating, and of one shape
  bool of_gradients = false;
  bool passes = false;  // by its Status
  SumStatistics sums;   // behind it
  RowOf of_any_shape;
  DeviceArithmetic arithmetic = call.arithmetic;
  OperandRounding operands = operands_of(call);
  CostLimit limit = CostLimit::many;  // of whatever is computed once more for the row

  // The tensor of an evaluation, if it is of the benchmark's shape.
  std::optional<Tensor> of(const Evaluation& evaluation) const;
  // The tensor that an arithmetic gives in place of the device's; nothing if it cannot be had.
  std::optional<Tensor> computed_with(const Arithmetic& arithmetic) const;
  // The same row with other tensors, as of a part of the call.
  RowCase with(CallCase& of, Tensor bench, Tensor device) const;
  // The same row with another limit.
  RowCase within(const CostLimit& other) const;
};

}  // namespace msrun
