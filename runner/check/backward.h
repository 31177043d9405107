// The backward of one call: the device's gradients against the benchmark's.
//
// A device computes the gradients of the arguments. A recording is one that only remembers, and what it remembers may
// be something else: the dumper hooks the autograd node that made the call's result. Its gradients are read in every
// way that may be right, as those of the arguments and as those of the last step inside the operator
// (kernels/api/last_steps.h). Of these ways
//
//   - one that leaves recorded gradients over is dropped if another one uses all of them,
//   - one that the benchmark confirms, or of which rounding explains the rest, is right: two computations do not agree
//     by accident,
//   - if none is, the gradients are wrong; only where a further way is possible that cannot be computed they are SKIP.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runner/check/check.h"
#include "runner/judge/judge.h"

namespace msrun {

// What a backward is checked with. All of it outlives the check.
struct BackwardInput {
  const Operator& op;
  const MaterialisedCall& call;
  const Evaluation& bench;
  const EvaluationOptions& benchmark;  // how bench was made
  const DeviceResult& device;
  const CheckOptions& options;
  DeviceArithmetic arithmetic = {};
  bool forward_is_error = false;
  bool fp8_input = false;
};

struct BackwardResult {
  std::optional<Status> status;  // nothing: the call has no gradients
  std::vector<DetailsRow> rows;
  bool shares_by_chance = true;  // Comparison::is_chance
};

// judge(), by whoever counts the memory that it was refused.
using ExplainBackward = std::function<void(CallCase&, Comparison&, const SumStatistics&, const Select&)>;

// call_case is that of the call. Throws SkipError where the gradients cannot be compared.
BackwardResult check_backward(const BackwardInput& input, CallCase& call_case, const ExplainBackward& explain);

}  // namespace msrun
