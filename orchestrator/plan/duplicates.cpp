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

}  // namespace

std::uint32_t DuplicateFilter::first_equal(const ApiCall& call, std::uint32_t number) {
  return first_equal(call.name, signature_of(call), number);
}

std::uint32_t DuplicateFilter::first_equal(const std::string& name, const std::string& signature,
                                           std::uint32_t number) {
  return seen_[name.substr(0, name.rfind('.'))].try_emplace(signature, number).first->second;
}

}  // namespace msrun
