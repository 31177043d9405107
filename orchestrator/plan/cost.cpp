#include "orchestrator/plan/cost.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>

namespace msrun {
namespace {

using SpecPtr = std::shared_ptr<const TensorSpec>;

// Elements and bytes of recorded tensors; in double, because recorded shapes may be absurd.
struct Volume {
  double elements = 0;
  double bytes = 0;
  double float_bytes = 0;  // of those that are raised and have gradients
};

// At most 1e30, so that products of two such counts stay finite.
double elements_of(const TensorSpec& spec) {
  double count = 1;
  for (const std::int64_t size : spec.shape) {
    if (size <= 0) return 0;
    count = std::min(count * static_cast<double>(size), 1e30);
  }
  return count;
}

void add_volume(const Value& tree, Volume& volume) {
  for_each_leaf(tree, [&](const Value& leaf) {
    const SpecPtr* spec = leaf.get<SpecPtr>();
    if (spec == nullptr) return;
    const double elements = elements_of(**spec);
    volume.elements += elements;
    const DType dtype = parse_dtype((*spec)->dtype).value_or(DType::float32);
    const double bytes = elements * static_cast<double>(size_of(dtype));
    volume.bytes += bytes;
    if (is_floating(dtype)) volume.float_bytes += bytes;
  });
}

const TensorSpec* tensor_at(const ApiCall& call, std::size_t position) {
  if (position >= call.args.size()) return nullptr;
  const SpecPtr* spec = call.args[position].get<SpecPtr>();
  return spec == nullptr ? nullptr : spec->get();
}

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return name == ending; });
}

// Multiply-adds of the forward of matrix products and convolutions; 0 for everything else.
double multiply_adds(const ApiCall& call, std::string_view api) {
  const bool three = ends_with_any(api, {"addmm", "baddbmm", "addbmm", "addmm_", "baddbmm_"});
  const TensorSpec* a = tensor_at(call, three ? 1 : 0);
  const TensorSpec* b = tensor_at(call, three ? 2 : 1);
  if (a == nullptr || b == nullptr || b->shape.empty()) return 0;
  const auto size = [](std::int64_t value) { return static_cast<double>(std::max<std::int64_t>(value, 0)); };
  if (three || ends_with_any(api, {"matmul", "__matmul__", "mm", "bmm", "mv"})) {
    return elements_of(*a) * (b->shape.size() > 1 ? size(b->shape.back()) : 1);
  }
  if (ends_with_any(api, {"linear", "npu_linear"})) return elements_of(*a) * size(b->shape.front());
  if (api.starts_with("conv")) {
    // Every input element meets every weight of its input channel.
    const double channels = b->shape.size() > 1 ? std::max(size(b->shape[1]), 1.0) : 1;
    return elements_of(*a) * elements_of(*b) / channels;
  }
  if (api.find("attention") != std::string_view::npos && a->shape.size() > 1) {
    return 2 * elements_of(*a) * size(b->shape[b->shape.size() - 2]);
  }
  return 0;
}

}  // namespace

CostEstimate estimate_cost(const ApiCall& call) {
  Volume inputs;
  Volume gradients;
  for (const Value& arg : call.args) add_volume(arg, inputs);
  for (const auto& [key, value] : call.kwargs) add_volume(value, inputs);
  for (const Value& gradient : call.grad_inputs) add_volume(gradient, gradients);
  const std::optional<ApiName> name = ApiName::parse(call.name);
  const double products = name ? multiply_adds(call, name->api) : 0;
  const double passes = call.has_backward ? 3 : 1;
  CostEstimate estimate;
  // Some twenty nanoseconds per element for data, two runs and the comparison; 0.02 ns per multiply-add and run.
  estimate.work = std::min(20000 + 20 * (inputs.elements + gradients.elements) + 0.04 * products * passes, 1e30);
  // The inputs in both precisions with gradients, outputs about as large as their gradients or the inputs, and the
  // float32 copies that half operands are computed in.
  const double outputs = gradients.bytes > 0 ? gradients.bytes : inputs.bytes;
  const double bytes = (call.has_backward ? 7 : 4) * inputs.float_bytes + (inputs.bytes - inputs.float_bytes) +
                       (call.has_backward ? 6 : 4) * outputs;
  estimate.memory = static_cast<std::uint64_t>(std::min(bytes, 0x1p62)) + (1U << 20);
  return estimate;
}

}  // namespace msrun
