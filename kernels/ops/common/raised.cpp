#include "kernels/base/error.h"
#include "kernels/ops/common/functions.h"

namespace msrun {

Var Raised::operator()(const Var& x) {
  if (!is_floating(x.dtype()) || x.is_number()) return x;
  dtype_ = any_ ? promote(dtype_, x.dtype()) : x.dtype();
  any_ = true;
  return is_half(x.dtype()) && !x.context().steps.are_stored ? cast(x, DType::float32) : x;
}

std::optional<Var> Raised::operator()(const std::optional<Var>& x) {
  if (!x) return std::nullopt;
  return (*this)(*x);
}

Var Raised::back(const Var& result) const {
  return any_ && is_half(dtype_) && result.dtype() == DType::float32 ? cast(result, dtype_) : result;
}

}  // namespace msrun
