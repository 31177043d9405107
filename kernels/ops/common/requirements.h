// What operators require of their arguments. Each throws SkipError with a sentence that names the argument.
#pragma once

#include "kernels/autograd/tape.h"

namespace msrun {

// "<what> is not defined for tensors of dtype int64."
void require_floating(const Var& x, const char* what);

// "<what> has shape (2, 3) where (3, 2) is expected."
void require_shape(const Var& x, const Dims& shape, const char* what);

// "<what> needs a tensor of 2 dimensions, but got shape (3,)."
void require_rank(const Var& x, std::int64_t rank, const char* what);

}  // namespace msrun
