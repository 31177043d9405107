#include "orchestrator/plan/cost.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "kernels/api/operators.h"

namespace msrun {
namespace {

using SpecPtr = std::shared_ptr<const TensorSpec>;

// Elements and bytes of recorded tensors; in double, because recorded shapes may be absurd.
struct Volume {
  double elements = 0;
  double bytes = 0;
  double float_bytes = 0;  // of those that are raised and have gradients
  double float32_bytes = 0;
};

void add_volume(const Value& tree, Volume& volume) {
  for_each_leaf(tree, [&](const Value& leaf) {
    const SpecPtr* spec = leaf.get<SpecPtr>();
    if (spec == nullptr) return;
    const double elements = recorded_elements(**spec);
    volume.elements += elements;
    const DType dtype = parse_dtype((*spec)->dtype).value_or(DType::float32);
    const double bytes = elements * static_cast<double>(size_of(dtype));
    volume.bytes += bytes;
    if (is_floating(dtype)) volume.float_bytes += bytes;
    if (dtype == DType::float32) volume.float32_bytes += bytes;
  });
}

// Whether autocast has lowered a call, which is judged by a second benchmark then.
bool is_lowered(const ApiCall& call, const OperatorTraits& traits) {
  const std::optional<DType> output = parse_dtype(call.output_dtype);
  return traits.autocast == AutocastPolicy::lower && output && is_half(*output);
}

}  // namespace

CostEstimate estimate_cost(const ApiCall& call) {
  Volume inputs;
  Volume gradients;
  for (const Value& arg : call.args) add_volume(arg, inputs);
  for (const auto& [key, value] : call.kwargs) add_volume(value, inputs);
  for (const Value& gradient : call.grad_inputs) add_volume(gradient, gradients);
  const std::optional<ApiName> name = ApiName::parse(call.name);
  const OperatorTraits& traits = name ? traits_of(*name) : ordinary_traits;
  const double products = traits.multiply_adds == nullptr ? 0 : traits.multiply_adds(call.args);
  const double passes = call.has_backward ? 3 : 1;
  CostEstimate estimate;
  // Some twenty nanoseconds per element for data, two runs and the comparison; 0.02 ns per multiply-add and run.
  estimate.work = std::min(20000 + 20 * (inputs.elements + gradients.elements) + 0.04 * products * passes, 1e30);
  // The inputs in both precisions with gradients, outputs about as large as their gradients or the inputs, and the
  // float32 copies that half operands are computed in.
  const double outputs = gradients.bytes > 0 ? gradients.bytes : inputs.bytes;
  double bytes = (call.has_backward ? 7 : 4) * inputs.float_bytes + (inputs.bytes - inputs.float_bytes) +
                 (call.has_backward ? 6 : 4) * outputs;
  // The arguments in the half type and in float32, their gradients, and further outputs in float32.
  if (is_lowered(call, traits) && inputs.float32_bytes > 0)
    bytes += (call.has_backward ? 3 : 2) * inputs.float32_bytes + 2 * outputs;
  estimate.memory = static_cast<std::uint64_t>(std::min(bytes, 0x1p62)) + (1U << 20);
  return estimate;
}

}  // namespace msrun
