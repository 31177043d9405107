#include "tools/op_generate/call_precision.h"

#include "kernels/evaluate/precision.h"

namespace msrun::op_generate {

namespace {

// The call with empty tensors of the recorded dtypes, which is all that a plan asks for.
MaterialisedCall outline(const ApiName& name, const List& args, const Dict& kwargs) {
  const auto empty = [](const Value& value) {
    return transform_leaves(value, [](const Value& leaf) -> Value {
      const TensorSpec* spec = recorded_tensor(leaf);
      if (spec == nullptr) return leaf;
      const std::optional<DType> dtype = parse_dtype(spec->dtype);
      return dtype ? Value(Tensor::zeros(*dtype, Dims{0})) : Value(None{});
    });
  };
  MaterialisedCall call;
  call.parts = name;
  for (const Value& value : args) call.args.push_back(empty(value));
  for (const auto& [key, value] : kwargs) call.kwargs.emplace_back(key, empty(value));
  return call;
}

}  // namespace

CallPrecision precision_of(const Operator& op, const ApiName& name, const List& args, const Dict& kwargs,
                           std::string_view output_dtype) {
  const OperatorTraits& traits = op.traits();
  const RaisePlan plan = plan_raise(outline(name, args, kwargs), traits);
  CallPrecision precision;
  // Operators take no mixture of dtypes where autocast does not make one of them. A benchmark of float32 is float64.
  if (plan.mixed && !traits.keeps_dtypes) precision.raised_to = DType::float64;
  precision.autocast = autocast_dtype(plan, output_dtype);
  // A result in float32 of arguments in a half type shows an operator that autocast computes in float32.
  const bool is_widened = plan.base && is_half(*plan.base) && parse_dtype(output_dtype) == DType::float32;
  if (!precision.autocast && is_widened && traits.autocast == AutocastPolicy::float32) precision.autocast = plan.base;
  // Autocast leaves calls in place alone.
  if (!precision.autocast || name.in_place()) return precision;
  if (traits.autocast == AutocastPolicy::lower) precision.casts_to = precision.autocast;
  if (traits.autocast == AutocastPolicy::float32) precision.casts_to = DType::float32;
  return precision;
}

}  // namespace msrun::op_generate
