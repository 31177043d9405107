// How torch composes operators of others, as far as recordings tell of it: the last step.
//
// The dumper hooks the autograd node that made a call's result. If torch composes the operator of others, that node is
// only the last of them, and the recorded gradients are those of what goes into this step: of the logarithms of
// probabilities for a cross entropy, of the losses of all elements for a mean. An operator says so by a line beside the
// steps of its category (kernels/ops/composition):
//
//   LAST_STEPS("tanhshrink", subtraction_steps);
//
// With it a recorded gradient is either that of an argument or that of a step, and both can be computed.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/api/operators.h"

namespace msrun {

struct LastStep {
  // Computed from the inputs; of the shape of the call's output.
  Var result;
  // In the order in which autograd gives their gradients. One that requires no gradient has none in a dump either.
  // Empty: the tensors that the call was given.
  std::vector<Var> inputs;
  // Whether recorded gradients may have their axes in another order than the inputs. They may always have another shape
  // of as many elements.
  bool any_layout = false;
  // The step computes nothing: the gradient is that of the call's output, and says nothing of the arguments'.
  bool moves_only = false;
};

// What may be the last step, by torch's versions and devices.
struct LastSteps {
  std::vector<LastStep> known;
  // The number of gradients that a further step, which is not known, would give. 0: there is no such step, and a
  // recorded gradient that is neither of an argument nor of a known step is wrong.
  std::size_t of_unknown = 0;
};

// The call whose last step is asked for.
struct ComposedCall {
  const Bound& args;
  const Var& output;        // the first tensor that it returned
  std::size_t tensors = 0;  // that it was given

  Var var(std::string_view name) const { return args.var(name); }
};

// Throws SkipError where the arguments are not those of the operator.
using LastStepsFunction = LastSteps (*)(const ComposedCall& call);

bool knows_last_steps(std::string_view canonical);

// The tensor of a call that torch copies before it computes with it, in versions of which it has no gradient then;
// nothing for most operators.
std::optional<std::size_t> copied_tensor(std::string_view canonical);

// Those of the overload that the arguments fit; none if nothing is known of the operator. Tensor leaves are Vars
// of tape, output is what the operator returned for them.
LastSteps last_steps(const Operator& op, const List& args, const Dict& kwargs, const Value& output, Tape& tape);

// What a LAST_STEPS line leaves behind while the library is loaded.
struct LastStepsRegistration {
  LastStepsRegistration(const char* canonical, LastStepsFunction steps,
                        std::optional<std::size_t> copied_tensor = std::nullopt);

  const char* canonical;
  LastStepsFunction steps;
  std::optional<std::size_t> copied_tensor;
  const LastStepsRegistration* next = nullptr;
};

#define LAST_STEPS(...) \
  static const ::msrun::LastStepsRegistration MSRUN_CONCAT(last_steps_registration_, __COUNTER__)(__VA_ARGS__)

}  // namespace msrun
