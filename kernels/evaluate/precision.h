// The precision of the benchmark: which tensors of a call are raised, and when the device runs under autocast
// (acc_check_pytorch.md 6.7, 6.8).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/api/operator_traits.h"
#include "kernels/evaluate/materialise.h"

namespace msrun {

struct RaisePlan {
  std::optional<DType> raised;  // dtype of the benchmark's float tensors; nothing: they stay as they are
  std::optional<DType> base;    // dtype of the call; of a mixed one the narrow dtype
  bool mixed = false;
  bool keeps_float32 = false;  // float32 stays although narrower dtypes are raised
  // The dtype that each tensor of the arguments gets in a call that raises them one by one.
  std::vector<DType> one_by_one = {};
};

// From the float16, bfloat16 and float32 tensors in args and kwargs; traits are those of the call's operator.
RaisePlan plan_raise(const MaterialisedCall& call, const OperatorTraits& traits);

// The dtype on the benchmark side of a tensor that is at that place among those of args and kwargs, depth first. float8
// always becomes float32.
DType raised_dtype(DType dtype, const RaisePlan& plan, std::size_t place);

// A gradient is raised by its own dtype: half and float8 to float32, float32 to float64 unless the plan keeps it.
Tensor raise_gradient(const Tensor& gradient, const RaisePlan& plan);

// The dtype that the device casts to for operators that autocast lowers; nothing: no autocast. output_dtype is the
// dump's.
std::optional<DType> autocast_dtype(const RaisePlan& plan, std::string_view output_dtype, AutocastPolicy policy);

// That of a call; nothing also where the call is to be run without autocast.
std::optional<DType> autocast_dtype(const MaterialisedCall& call, const OperatorTraits& traits);

// The dtype to which autocast casts the half and float32 arguments of a call before it is computed: the dtype in which
// its results and gradients are computed, whatever they are stored in. Nothing where it casts none.
std::optional<DType> autocast_casts_to(const MaterialisedCall& call, const OperatorTraits& traits);

}  // namespace msrun
