#include "kernels/api/drawn_call.h"

namespace msrun {

const Tensor* DrawnCall::tensor(std::size_t place, std::string_view name) {
  const Value* value = made(place, name);
  return value == nullptr ? nullptr : value->get<Tensor>();
}

bool is_drawn(const Value& recorded) {
  const TensorSpec* spec = recorded_tensor(recorded);
  return spec != nullptr && spec->file().empty();
}

}  // namespace msrun
