// What the operators that reduce axes share: how they read their arguments and round their results.
#pragma once

#include <optional>

#include "kernels/api/signature.h"
#include "kernels/ops/common/functions.h"

namespace msrun {

// Throws SkipError: "<what> needs a floating point tensor."
void need_floating(const Var& x, const char* what);

inline Tensor as_dtype_of(const Var& x, const Tensor& result) { return result.to(x.dtype()); }

// The argument `input`, converted first where the argument `dtype` asks for it (computed_in).
Var as_requested(const Bound& args);

// What was made of as_requested(): integers are computed in int64, and a dtype of integers that was asked for is that
// of the result.
Var in_requested_dtype(const Bound& args, const Var& result);

}  // namespace msrun
