// Calls that round to an integer what they have computed, such as round(x * 100) / 100 or a - floor(a / b) * b: where
// the computed value lies on a step but for rounding, float32 may end on the other side of it than the benchmark's
// float64. Both sides are right there, and nothing else is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "kernels/evaluate/evaluate.h"

namespace msrun {

// The tensor that an evaluation has in the place of a row; nothing if it has none.
using RowOf = std::function<std::optional<Tensor>(const Evaluation&)>;

struct StepSides {
  Tensor bench;                   // the benchmark with the side that is nearer to the device's
  std::int64_t exchanged = 0;     // elements that lie on the other side
  std::int64_t alternatives = 0;  // elements of which the other of two right results is taken
  // How much the result depends on its arguments between the steps: ErrorBudget::spread, of the benchmark's shape.
  // Undefined where that is not known.
  Tensor spread;
};

// An element lies on a step but for rounding if changes of the arguments by one unit roundoff of float32 lead across
// it, and changes by that of float64 do not: 6 / 3 is 2 in every arithmetic. Of a half type that holds what is rounded
// to an integer, a change of that by the unit roundoff of the half type does so. Where the steps are finer, so that
// such changes lead across some in both directions (round(x * 1e5) / 1e5 for x = 1000.3), what lies between is as
// right. At a kink an element may have the slope of either side, however exactly its argument lies there. device is
// floating and of the benchmark's shape. steps is how the compared tensor is rounded; of_float32 where the device
// stores nothing in half types on the way. Nothing if there are none, or the benchmark is computed in the arithmetic of
// the steps.
std::optional<StepSides> nearest_sides(const Operator& op, const MaterialisedCall& call,
                                       const EvaluationOptions& benchmark, const Tensor& bench, const Tensor& device,
                                       const RowOf& row, Steps steps);

// Kernels hold a number that they take as a parameter, a threshold, in a half type or in float32, and those of float64
// a constant in float32 or float64. Of an element for which that decides the benchmark gets the side that is nearer to
// the device's. Nothing if none is on the other side.
std::optional<StepSides> nearest_parameters(const Operator& op, const MaterialisedCall& call,
                                            const EvaluationOptions& benchmark, const Tensor& bench,
                                            const Tensor& device, const RowOf& row);

// The same for positions of elements that kernels of half types compute and store in the half type, once or step by
// step (kernels/tensor/recorded_dtypes.h).
std::optional<StepSides> nearest_positions(const Operator& op, const MaterialisedCall& call,
                                           const EvaluationOptions& benchmark, const Tensor& bench,
                                           const Tensor& device, const RowOf& row);

// The benchmark with the other of two right results (EvaluationOptions::alternative) where that is nearer to the
// device's. Nothing if it is nowhere.
std::optional<StepSides> nearest_alternatives(const Operator& op, const MaterialisedCall& call,
                                              const EvaluationOptions& benchmark, const Tensor& bench,
                                              const Tensor& device, const RowOf& row);

}  // namespace msrun
