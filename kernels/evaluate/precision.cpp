#include "kernels/evaluate/precision.h"

namespace msrun {
namespace {

// Half to float32, float32 to float64, but for tensors that have the dtype that the first of them got.
std::vector<DType> raised_one_by_one(const MaterialisedCall& call) {
  std::vector<DType> dtypes;
  std::optional<DType> first;
  for_each_argument(call, [&](const Tensor& tensor) {
    DType dtype = tensor.dtype();
    const bool raisable = is_half(dtype) || dtype == DType::float32;
    if (raisable && dtype != first) dtype = is_half(dtype) ? DType::float32 : DType::float64;
    if (raisable && !first) first = dtype;
    dtypes.push_back(dtype);
  });
  return dtypes;
}

}  // namespace

RaisePlan plan_raise(const MaterialisedCall& call, const OperatorTraits& traits) {
  bool half = false;
  bool bfloat = false;
  bool single = false;
  for_each_argument(call, [&](const Tensor& tensor) {
    half = half || tensor.dtype() == DType::float16;
    bfloat = bfloat || tensor.dtype() == DType::bfloat16;
    single = single || tensor.dtype() == DType::float32;
  });

  RaisePlan plan;
  if (call.raises_one_by_one && !traits.keeps_dtypes) {
    plan.one_by_one = raised_one_by_one(call);
    return plan;
  }
  plan.keeps_float32 = call.hf32 && traits.runs_in_hf32(call.parts.api);
  const int kinds = (half ? 1 : 0) + (bfloat ? 1 : 0) + (single ? 1 : 0);
  if (kinds == 0) return plan;
  plan.mixed = kinds > 1;
  plan.base = half ? DType::float16 : bfloat ? DType::bfloat16 : DType::float32;
  if (!traits.keeps_dtypes) plan.raised = kinds == 1 && single ? DType::float64 : DType::float32;
  if (call.benchmark_dtype) plan.raised = call.benchmark_dtype;
  return plan;
}

DType raised_dtype(DType dtype, const RaisePlan& plan, std::size_t place) {
  if (is_float8(dtype)) return DType::float32;
  if (place < plan.one_by_one.size()) return plan.one_by_one[place];
  const bool raisable = is_half(dtype) || (dtype == DType::float32 && !plan.keeps_float32);
  return raisable && plan.raised ? *plan.raised : dtype;
}

Tensor raise_gradient(const Tensor& gradient, const RaisePlan& plan) {
  if (is_half(gradient.dtype()) || is_float8(gradient.dtype())) return gradient.to(DType::float32);
  if (gradient.dtype() == DType::float32 && !plan.keeps_float32) return gradient.to(DType::float64);
  return gradient;
}

std::optional<DType> autocast_dtype(const RaisePlan& plan, std::string_view output_dtype, AutocastPolicy policy) {
  std::optional<DType> dtype;
  const std::optional<DType> output = parse_dtype(output_dtype);
  // Of half types alone nothing but autocast to float32 makes float32; to which half type it lowers others shows not.
  const bool raises = policy == AutocastPolicy::float32 && plan.base && is_half(*plan.base) && output == DType::float32;
  if (plan.mixed || raises) {
    dtype = plan.base;
  } else if (output && (is_half(*output) || *output == DType::float32 || *output == DType::float64) &&
             plan.base != output) {
    dtype = output;
  }
  // Autocast to float32 or float64 does nothing.
  return dtype && is_half(*dtype) ? dtype : std::nullopt;
}

std::optional<DType> autocast_dtype(const MaterialisedCall& call, const OperatorTraits& traits) {
  if (!call.autocast) return std::nullopt;
  return autocast_dtype(plan_raise(call, traits), call.output_dtype, traits.autocast);
}

std::optional<DType> autocast_casts_to(const MaterialisedCall& call, const OperatorTraits& traits) {
  // Autocast leaves calls in place alone.
  if (traits.autocast == AutocastPolicy::keep || call.parts.in_place()) return std::nullopt;
  const std::optional<DType> dtype = autocast_dtype(call, traits);
  return dtype && traits.autocast == AutocastPolicy::float32 ? DType::float32 : dtype;
}

}  // namespace msrun
