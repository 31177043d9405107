// The tensor that a value of a call is.
#pragma once

#include "kernels/api/value.h"

namespace msrun {

// The tensor of a Tensor or a Var; null for anything else, and for a tensor that is not defined.
inline const Tensor* tensor_in(const Value& value) {
  const Tensor* tensor = value.get<Tensor>();
  if (const Var* var = value.get<Var>()) tensor = &var->tensor();
  return tensor != nullptr && tensor->defined() ? tensor : nullptr;
}

}  // namespace msrun
