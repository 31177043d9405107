#include "runner/check/lowered_call.h"

#include <cstddef>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/evaluate/precision.h"

namespace msrun {
namespace {

// The call with its float32 arguments in `half`; nothing if it has none.
std::optional<MaterialisedCall> with_half_arguments(const MaterialisedCall& call, DType half) {
  std::size_t arguments = 0;
  bool any = false;
  for_each_argument(call, [&](const Tensor& tensor) {
    ++arguments;
    any = any || tensor.dtype() == DType::float32;
  });
  if (!any) return std::nullopt;
  std::size_t place = 0;
  return with_inputs(call, [&](const Tensor& tensor) {
    const bool is_cast = place++ < arguments && (is_half(tensor.dtype()) || tensor.dtype() == DType::float32);
    return is_cast ? tensor.to(half) : tensor;
  });
}

}  // namespace

std::optional<LoweredCall> LoweredCall::of(const Operator& op, const MaterialisedCall& call,
                                           const EvaluationOptions& benchmark) {
  const std::optional<DType> half = autocast_casts_to(call, op.traits());
  if (!half || !is_half(*half)) return std::nullopt;
  std::optional<MaterialisedCall> lowered = with_half_arguments(call, *half);
  if (!lowered) return std::nullopt;
  try {
    Evaluation bench = evaluate(op, *lowered, benchmark);
    const bool in_part = call.output_dtype == torch_name(DType::float32);
    return LoweredCall{std::move(*lowered), std::move(bench), in_part ? half : std::nullopt};
  } catch (const SkipError&) {
    return std::nullopt;
  }
}

void LoweredCall::judge(const std::vector<Value>& values, Comparison& comparison) const {
  if (values.size() != comparison.pairs.size()) return;
  for (std::size_t row = 0; row < values.size(); ++row) {
    Comparison::Pair& pair = comparison.pairs[row];
    const auto* tensor = values[row].get<Tensor>();
    const bool fits = tensor != nullptr && pair.bench.defined() && tensor->shape() == pair.bench.shape();
    if (!fits || !is_floating(tensor->dtype())) continue;
    pair.bench = *tensor;
    if (in_part && pair.device.defined() && pair.device.dtype() == DType::float32)
      pair.device = pair.device.to(*in_part);
  }
}

}  // namespace msrun
