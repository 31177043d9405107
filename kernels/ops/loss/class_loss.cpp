#include "kernels/ops/loss/class_loss.h"

#include "kernels/numeric/rows.h"

namespace msrun {

std::int64_t class_count(const Var& x) {
  if (x.rank() == 0) throw SkipError("The loss expects an input of at least one dimension.");
  if (!is_floating(x.dtype()))
    throw SkipError("The loss is not defined for inputs of dtype " + std::string(name(x.dtype())) + ".");
  require_bounded(x.shape());
  return x.rank() == 1 ? x.size(0) : x.size(1);
}

Dims element_shape(const Var& x) {
  Dims shape = x.shape();
  shape.erase(shape.begin() + (x.rank() == 1 ? 0 : 1));
  return shape;
}

void require_class(std::int64_t index, std::int64_t classes) {
  if (index >= 0 && index < classes) return;
  throw SkipError("Target " + std::to_string(index) + " is out of bounds for " + std::to_string(classes) + " classes.");
}

std::vector<std::int64_t> class_indices(const Var& x, const Tensor& target, std::optional<std::int64_t> ignored) {
  if (target.shape() != element_shape(x)) {
    throw SkipError("Expected a target of shape " + tuple_text(element_shape(x)) + " for an input of shape " +
                    tuple_text(x.shape()) + ", but got " + tuple_text(target.shape()) + ".");
  }
  if (!is_integer(target.dtype()))
    throw SkipError("Expected a target of class indices, but its dtype is " + std::string(name(target.dtype())) + ".");
  const std::int64_t classes = class_count(x);
  const Tensor wide = target.to(DType::int64).contiguous();
  std::vector<std::int64_t> indices(wide.data<std::int64_t>(), wide.data<std::int64_t>() + wide.numel());
  for (std::int64_t& index : indices) {
    if (index == ignored) {
      index = -1;
    } else {
      require_class(index, classes);
    }
  }
  return indices;
}

Tensor checked_weight(const Bound& args, std::int64_t classes) {
  const auto weight = args.optional_var("weight");
  if (!weight) return {};
  if (weight->rank() != 1 || weight->size(0) != classes) {
    throw SkipError("weight tensor should be defined either for all " + std::to_string(classes) +
                    " classes or no classes but got weight tensor of shape " + tuple_text(weight->shape()) + ".");
  }
  return weight->tensor();
}

Tensor element_gradients(const Tensor& gradient, const Dims& shape, DType wide) {
  return gradient.to(wide).expand(shape).contiguous();
}

}  // namespace msrun
