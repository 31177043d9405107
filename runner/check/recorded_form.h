// Whether a call, as it can be rebuilt from its recording, is the one that was recorded: what it gives has the shapes
// and dtypes that were recorded of its results. It has others where the recorder leaves arguments out, or records parts
// of tensors. Nothing that such a call gives says anything about the device.
#pragma once

#include <string>

#include "kernels/api/api_call.h"
#include "kernels/evaluate/evaluate.h"
#include "runner/device/device.h"

namespace msrun {

struct ComputedForms {
  const Operator& op;
  const MaterialisedCall& call;
  const List& recorded;  // ApiCall::output_forms
  // What the benchmark gives.
  const Value& bench;
  // What the device gives, of which the dtype is looked at; null: dtypes are not known.
  const Value* device = nullptr;
};

// The first contradiction, a sentence that names what was recorded and what the call gives; empty if there is none.
// Only results that are compared are looked at; shapes that depend on the data contradict nothing.
std::string contradiction(const ComputedForms& forms);

// Whether the results that are compared have the shapes that were recorded.
bool has_recorded_shapes(const OperatorTraits& traits, const List& recorded, const Value& results);

}  // namespace msrun
