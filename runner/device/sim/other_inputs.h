// Results that belong to other inputs than those of the call: what a device returns that takes the memory of an earlier
// call for its result, or that leaves out a part of a gradient.
#pragma once

#include "kernels/evaluate/evaluate.h"

namespace msrun {

// The call computed from other data of the kind: every floating input and gradient of an output has its elements drawn
// anew, with repetition, from its own, by a key of the call's name. Where the operator refuses those, from inputs half
// as large. Nothing if it refuses both.
std::optional<Evaluation> evaluate_earlier_call(const Operator& op, const MaterialisedCall& call,
                                                const EvaluationOptions& options);

// The call computed with gradients of its outputs that are zero at the last index of the first axis longer than one:
// sums over that axis lack a term. Nothing if no gradient of an output has such an axis, or the call cannot be
// computed.
std::optional<Evaluation> evaluate_without_last_index(const Operator& op, const MaterialisedCall& call,
                                                      const EvaluationOptions& options);

// The first gradient that lacks a term in place of being zero where it differs; if there is none, the first that
// differs. Both lists are gradients of one call. Nothing if none differs.
std::optional<std::size_t> gradient_that_lacks_a_term(const List& whole, const List& lacking);

}  // namespace msrun
