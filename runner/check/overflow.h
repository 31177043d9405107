// run_overflow_check: whether an API whose output overflowed on the device overflows on the CPU, too
// (acc_check_pytorch.md 12). Both sides run the forward in the recorded dtypes.
#pragma once

#include "runner/check/check.h"

namespace msrun {

// Infinity or NaN in a number, in an element of a tensor as float32, or anywhere in a list of them. The largest finite
// value is no overflow.
bool overflows(const Value& output);

// Fills result. Throws SkipError where the call cannot be run.
void check_overflow(const ApiCall& call, Device& device, const CheckOptions& options, ApiResult& result);

}  // namespace msrun
