// Calls that differ from a recorded one in one argument, as a kernel computes them that takes one argument for another
// or reads a tensor in another layout. A device that gives the result of such a call names its own mistake.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/evaluate/materialise.h"

namespace msrun {

struct AlteredCall {
  std::string what;  // "with approximate='tanh' in place of 'none'"
  MaterialisedCall call;
};

// At most so many of them, the likelier ones first:
// - a flag turned, a text or an axis replaced by another one that the parameter takes, a number by 0, by 1, by its
//   default or by its negative, an integer by its neighbours;
// - of_output: an optional tensor left out, or two tensors of one shape exchanged. A gradient has the place of its
//   argument, so that neither can be told of gradients;
// - a tensor that is read in another layout: its spatial axes reversed, its last two axes transposed, channels last for
//   channels first, the two halves of its last axis interleaved, and the other way round, exchanged, or half of it
//   alone.
// Operators refuse some of them by a SkipError, and others have results of another shape.
std::vector<AlteredCall> altered_calls(const Operator& op, const MaterialisedCall& call, bool of_output,
                                       std::size_t most);

// Those with a flag turned or a text replaced: few, and each a formula of its own.
std::vector<AlteredCall> otherwise_chosen_calls(const Operator& op, const MaterialisedCall& call);

// A real number among the arguments, a tolerance or a scale, of which a device may have taken another value.
struct FreeNumber {
  std::string name;            // of the parameter
  std::string recorded;        // "1e-05", "None"
  std::vector<double> starts;  // where to look for that value: the recorded one, or several, if the operator chooses it
  std::function<MaterialisedCall(double)> with;  // the call with a value
};
void for_each_free_number(const Operator& op, const MaterialisedCall& call,
                          const std::function<void(const FreeNumber&)>& visit);

}  // namespace msrun
