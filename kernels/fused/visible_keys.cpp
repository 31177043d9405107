#include "kernels/fused/visible_keys.h"

#include <algorithm>
#include <vector>

namespace msrun {
namespace {

// A boolean mask that was drawn, and whose recorded one has shown some keys and hidden others; null for any other.
const Tensor* drawn_mask(DrawnCall& call, const MaskArgument& argument) {
  const Value* recorded = call.recorded(argument.place, argument.name);
  const TensorSpec* spec = recorded == nullptr ? nullptr : recorded_tensor(*recorded);
  const Tensor* mask = call.drawn(argument.place, argument.name);
  if (spec == nullptr || mask == nullptr || mask->dtype() != DType::boolean) return nullptr;
  return mask->rank() > 0 && mask->size(-1) > 1 && spec->min != spec->max ? mask : nullptr;
}

// The mask with the first key shown in every row, or in those rows alone that hide all keys.
Tensor with_visible_keys(const Tensor& mask, bool visible, bool in_every_row) {
  const Tensor source = mask.contiguous();
  Tensor result = Tensor::zeros(DType::boolean, mask.shape());
  const std::int64_t row = mask.size(-1);
  const bool* from = source.data<bool>();
  bool* to = result.mutable_data<bool>();
  for (std::int64_t start = 0; start < mask.numel(); start += row) {
    std::copy_n(from + start, row, to + start);
    const bool hides_all = std::find(from + start, from + start + row, visible) == from + start + row;
    if (in_every_row || hides_all) to[start] = visible;
  }
  return result;
}

}  // namespace

void keep_visible_keys(DrawnCall& call, std::initializer_list<MaskArgument> masks, bool visible) {
  std::vector<MaskArgument> given;
  for (const MaskArgument& argument : masks) {
    const Value* made = call.made(argument.place, argument.name);
    if (made != nullptr && made->is<Tensor>()) given.push_back(argument);
  }
  for (const MaskArgument& argument : given) {
    const Tensor* mask = drawn_mask(call, argument);
    if (mask == nullptr) continue;
    *call.made(argument.place, argument.name) = with_visible_keys(*mask, visible, given.size() > 1);
  }
}

}  // namespace msrun
