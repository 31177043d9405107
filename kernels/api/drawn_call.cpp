#include "kernels/api/drawn_call.h"

namespace msrun {

const Tensor* DrawnCall::tensor(std::size_t place, std::string_view name) {
  const Value* value = made(place, name);
  return value == nullptr ? nullptr : value->get<Tensor>();
}

const Tensor* DrawnCall::drawn(std::size_t place, std::string_view name) {
  const Value* value = recorded(place, name);
  return value == nullptr || !is_drawn(*value) ? nullptr : tensor(place, name);
}

bool is_drawn(const Value& recorded) {
  const TensorSpec* spec = recorded_tensor(recorded);
  return spec != nullptr && spec->file().empty();
}

}  // namespace msrun
