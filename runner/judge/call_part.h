// A part of a call that is too large to be computed again: the call at some places of one axis that it does not mix,
// such as samples of a batch or rows of a softmax. Which axis that is, is found by trying: what the part gives is what
// the whole gave at these places.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/compare/bounds/rounding.h"
#include "kernels/evaluate/evaluate.h"
#include "runner/judge/step_sides.h"

namespace msrun {

struct CallPart {
  MaterialisedCall call;
  Evaluation bench;
  std::int64_t axis = 0;             // of the compared tensor
  std::vector<std::int64_t> places;  // rising
  // Of the first axis, if it is the second that the places are of: one sample of a batch is too large, as it is of
  // attention, but its heads do not mix either. Nothing: all samples.
  std::optional<std::int64_t> sample;

  // What the part has of a tensor of the whole call that is shaped like the compared one.
  Tensor of(const Tensor& whole) const;
};

struct WholeCall {
  const Operator& op;
  const MaterialisedCall& call;
  const EvaluationOptions& benchmark;  // how its benchmark was computed
  double elements = 0;                 // of its floating inputs
  double additions = 0;                // behind its results
  Tensor device = {};                  // what the device has for the compared tensor; undefined: not known
};

// The part that shows the elements of a compared tensor that a fit leaves unexplained, the worst first, and others
// evenly spread. bench is the tensor's benchmark, row gives it of another evaluation. Nothing if no axis of the tensor
// is independent of the others, or no part is small.
std::optional<CallPart> part_of_call(const WholeCall& whole, const Tensor& bench, const RoundingFit& fit,
                                     const RowOf& row);

}  // namespace msrun
