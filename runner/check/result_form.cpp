#include "runner/check/result_form.h"

namespace msrun {

bool has_float8_input(const MaterialisedCall& call) {
  bool found = false;
  for_each_argument(call, [&](const Tensor& tensor) { found = found || is_float8(tensor.dtype()); });
  return found;
}

Value narrow_float8_result(const Value& output) {
  return transform_leaves(output, [](const Value& leaf) -> Value {
    const Tensor* tensor = leaf.get<Tensor>();
    return tensor != nullptr && tensor->dtype() == DType::float32 ? Value(tensor->to(DType::float16)) : leaf;
  });
}

Value in_form_of(const Value& bench, const Value& recorded) {
  const List* expected = bench.get<List>();
  const List* found = recorded.get<List>();
  if (expected != nullptr && found == nullptr && expected->size() == 1) return List{recorded};
  if (expected == nullptr && found != nullptr && found->size() == 1) return found->front();
  return recorded;
}

Value without_added_axis(const Value& bench, const Value& device) {
  if (const List* expected = bench.get<List>()) {
    const List* found = device.get<List>();
    if (found == nullptr || found->size() != expected->size()) return device;
    List results;
    for (std::size_t i = 0; i < found->size(); ++i) results.push_back(without_added_axis((*expected)[i], (*found)[i]));
    return results;
  }
  const Tensor* expected = bench.get<Tensor>();
  const Tensor* found = device.get<Tensor>();
  const bool added = expected != nullptr && found != nullptr && expected->rank() == 0 && found->shape() == Dims{1};
  return added ? Value(found->reshape(Dims{})) : device;
}

}  // namespace msrun
