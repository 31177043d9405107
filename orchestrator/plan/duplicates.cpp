#include "orchestrator/plan/duplicates.h"

#include <memory>
#include <utility>

#include "kernels/api/call_codec.h"

namespace msrun {
namespace {

using SpecPtr = std::shared_ptr<const TensorSpec>;

Value without_statistics(const Value& tree) {
  return transform_leaves(tree, [](const Value& leaf) -> Value {
    const SpecPtr* spec = leaf.get<SpecPtr>();
    if (spec == nullptr) return leaf;
    auto bare = std::make_shared<TensorSpec>();
    bare->dtype = (*spec)->dtype;
    bare->shape = (*spec)->shape;
    bare->requires_grad = (*spec)->requires_grad;
    bare->data_name = (*spec)->data_name;
    bare->data_path = (*spec)->data_path;
    return SpecPtr(std::move(bare));
  });
}

// What must be equal for two calls of an API to count as repeated: everything but statistics.
std::string signature_of(ApiCall call) {
  call.name.clear();
  call.output_dtype.clear();
  call.args = *without_statistics(call.args).get<List>();
  call.kwargs = *without_statistics(call.kwargs).get<Dict>();
  call.grad_inputs = *without_statistics(call.grad_inputs).get<List>();
  return encode(call);
}

// msProbe's rule: the top-level tensors and values of args without Max and Min, kwargs as they are, no backward.
std::string compat_signature_of(ApiCall call) {
  call.name.clear();
  call.output_dtype.clear();
  List top;
  for (const Value& arg : call.args) {
    if (arg.is<List>() || arg.is_none()) continue;
    const SpecPtr* spec = arg.get<SpecPtr>();
    if (spec == nullptr) {
      top.push_back(arg);
      continue;
    }
    auto changed = std::make_shared<TensorSpec>(**spec);
    changed->max.reset();
    changed->min.reset();
    top.emplace_back(SpecPtr(std::move(changed)));
  }
  call.args = std::move(top);
  call.has_backward = false;
  call.grad_inputs.clear();
  return encode(call);
}

}  // namespace

std::uint32_t DuplicateFilter::first_equal(const ApiCall& call, std::uint32_t number) {
  const std::string group = call.name.substr(0, call.name.rfind('.'));
  return seen_[group].try_emplace(compat_ ? compat_signature_of(call) : signature_of(call), number).first->second;
}

}  // namespace msrun
