// In which dtypes a recorded call is computed: what autocast did to it, and how its benchmark is raised.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/api/operators.h"
#include "kernels/tensor/dtype.h"

namespace msrun::op_generate {

struct CallPrecision {
  // The dtype of the autocast under which the call was recorded; nothing: there was none, or it did nothing.
  std::optional<DType> autocast;
  // The dtype that autocast casts the arguments of the operator to; nothing: it leaves them alone.
  std::optional<DType> casts_to;
  // The dtype of all floating tensors of the benchmark; nothing: each is raised by its own.
  std::optional<DType> raised_to;
};

// args and kwargs have TensorSpecs as leaves. output_dtype is the recorded dtype of the first result, which shows
// autocast where the dtypes of the arguments do not.
CallPrecision precision_of(const Operator& op, const ApiName& name, const List& args, const Dict& kwargs,
                           std::string_view output_dtype);

// Whether autocast casts tensors of the dtype.
inline bool is_castable(DType dtype) { return is_half(dtype) || dtype == DType::float32; }

}  // namespace msrun::op_generate
