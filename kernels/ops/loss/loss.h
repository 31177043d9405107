// What the loss operators share: how the losses of the elements are reduced to the result (api_inventory.md 3, loss).
#pragma once

#include "kernels/api/signature.h"
#include "kernels/ops/common/functions.h"

namespace msrun {

enum class Reduction : std::uint8_t { none, mean, sum, batchmean };

// From the parameter `reduction`, text or Aten's 0, 1, 2. Where the signature has the legacy flags `size_average` and
// `reduce` and one of them is given, they decide. Throws SkipError for another value.
Reduction reduction_of(const Bound& args, bool legacy_flags);

// batchmean divides the sum by the first size.
Var reduced(const Var& losses, Reduction reduction);

}  // namespace msrun
