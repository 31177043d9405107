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
  MaterialisedCall call = outline(name, args, kwargs);
  call.output_dtype = output_dtype;
  const RaisePlan plan = plan_raise(call, traits);
  CallPrecision precision;
  // Operators take no mixture of dtypes where autocast does not make one of them. A benchmark of float32 is float64.
  if (plan.mixed && !traits.keeps_dtypes) precision.raised_to = DType::float64;
  precision.autocast = autocast_dtype(call, traits);
  precision.casts_to = autocast_casts_to(call, traits);
  return precision;
}

}  // namespace msrun::op_generate
