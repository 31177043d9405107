// What the loss operators share: how the losses of the elements are reduced to the result (api_inventory.md 3, loss).
#pragma once

#include "kernels/api/signature.h"
#include "kernels/ops/common/functions.h"

namespace msrun {

enum class Reduction : std::uint8_t { none, mean, sum, batchmean };

// From the parameter `reduction`, text or Aten's 0, 1, 2 (False and True are 0 and 1 there). Where the signature has
// the legacy flags `size_average` and `reduce` and one of them is given, they decide. Throws SkipError for another
// value.
Reduction reduction_of(const Bound& args, bool legacy_flags);

// batchmean divides the sum by the first size.
Var reduced(const Var& losses, Reduction reduction);

// Operators of the dispatcher (Aten) reduce to the mean by default. The default of torch's Python bindings of the same
// operators (namespace Torch, where it is no function of torch.nn.functional) is 0: unreduced. Their parser reads the
// default of native_functions.yaml, "at::Reduction::Mean", as a number. So each of these operators has two forms.

// max(x, low), with the gradient passed on everywhere, as for a clamp that torch applies outside the graph.
Var raised_to(const Var& x, double low);

// How losses are called: torch.nn.functional with the legacy flags, or with `reduction` alone.
inline constexpr bool with_legacy_flags = true;
inline constexpr bool without_legacy_flags = false;

// loss(input, target) in raised precision, reduced, rounded once.
template <class Loss>
Value elementwise_loss(const Bound& args, bool legacy_flags, const Loss& loss) {
  Raised raised;
  const Var x = raised(args.var("input"));
  const Var t = raised(args.var("target"));
  return raised.back(reduced(loss(x, t, raised), reduction_of(args, legacy_flags)));
}

}  // namespace msrun
