// What the files of this folder share: last steps (kernels/api/last_steps.h) that many operators have. Nothing here is
// part of an operator's result.
#pragma once

#include <utility>
#include <vector>

#include "kernels/api/last_steps.h"
#include "kernels/ops/common/functions.h"

namespace msrun {

// The step that computes f(inputs), with inputs of its own: those that require a gradient get theirs from it alone.
template <class F>
LastStep step_of(std::vector<Var> inputs, const F& f) {
  for (Var& input : inputs) {
    if (input.requires_grad()) input = input.tape().leaf(input.tensor());
  }
  Var result = f(inputs);
  return {std::move(result), std::move(inputs)};
}

// A tensor whose values do not matter to the gradients of a step.
inline Var any_values(const ComposedCall& call, const Dims& shape) {
  return call.args.tape().leaf(Tensor::zeros(call.output.dtype(), shape));
}

// A view that keeps the order of the elements, or a copy: the gradient of the output itself, in another shape.
inline LastStep viewing_step(const Var& output) {
  const Var before = output.tape().leaf(output.tensor());
  return {before, {before}, false, true};
}
inline LastSteps viewing_steps(const ComposedCall& call) { return {{viewing_step(call.output)}}; }

// A transposition as well.
inline LastStep moving_step(const Var& output) {
  LastStep step = viewing_step(output);
  step.any_layout = true;
  return step;
}

// The gradients of the arguments, in other shapes.
inline LastStep whole_call(const Var& output) { return {output, {}}; }

// Sums of tensors of the output's shape, whose gradients do not depend on their values.
inline LastStep addition_step(const Var& output) {
  return step_of({output, output}, [](const auto& in) { return add(in[0], in[1]); });
}
inline LastStep subtraction_step(const Var& output) {
  return step_of({output, output}, [](const auto& in) { return sub(in[0], in[1]); });
}
inline LastStep negation_step(const Var& output) {
  return step_of({output}, [](const auto& in) { return neg(in[0]); });
}
// A tensor times a number.
inline LastStep scaling_step(const Var& output, double factor) {
  return step_of({output}, [factor](const auto& in) { return mul(in[0], factor); });
}

}  // namespace msrun
