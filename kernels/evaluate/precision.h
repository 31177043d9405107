// The precision of the benchmark: which tensors of a call are raised, and when the device runs under autocast
// (acc_check_pytorch.md 6.7, 6.8).
#pragma once

#include <optional>
#include <string_view>

#include "kernels/evaluate/materialise.h"

namespace msrun {

struct RaisePlan {
  std::optional<DType> raised;  // dtype of the benchmark's float tensors; nothing: they stay as they are
  std::optional<DType> base;    // dtype of the call; of a mixed one the narrow dtype
  bool mixed = false;
};

// From the float16, bfloat16 and float32 tensors in args and kwargs.
RaisePlan plan_raise(const MaterialisedCall& call);

// One tensor of the benchmark side. conv1d and conv2d keep float32, type_as keeps everything; float8 becomes float32.
Tensor raise(const Tensor& tensor, const RaisePlan& plan, std::string_view api);

// A gradient is raised by itself: half to float32, float32 to float64; with conv1d and conv2d float32 stays.
Tensor raise_gradient(const Tensor& gradient, std::string_view api);

// The dtype that the device casts to for operators that autocast lowers; nothing: no autocast. output_dtype is the
// dump's.
std::optional<DType> autocast_dtype(const RaisePlan& plan, std::string_view output_dtype);

// What autocast does to the floating inputs of an operator, by torch's lists.
enum class AutocastPolicy : std::uint8_t { keep, lower, float32 };
AutocastPolicy autocast_policy(std::string_view canonical_operator);

}  // namespace msrun
