// Operators that copy a tensor unchanged or tell something about it.
#include <string>

#include "kernels/base/error.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/operator_forms.h"

namespace msrun {
namespace {

Value number_of(const Tensor& tensor, std::int64_t index) {
  if (is_complex(tensor.dtype())) throw SkipError("A complex Python number cannot be compared.");
  if (tensor.dtype() == DType::boolean) return tensor.int_item(index) != 0;
  if (is_integer(tensor.dtype())) return tensor.int_item(index);
  return tensor.item(index);
}

Value item(const Bound& args) {
  const Tensor tensor = args.var("input").tensor();
  if (tensor.numel() != 1) throw SkipError("Only a tensor of one element can be converted to a Python number.");
  return number_of(tensor, 0);
}

Value truth(const Bound& args) {
  const Tensor tensor = args.var("input").tensor();
  if (tensor.numel() != 1) throw SkipError("The truth of a tensor with more or less than one element is ambiguous.");
  return tensor.to(DType::boolean).int_item() != 0;
}

// Nested lists of the elements of a contiguous tensor from a position on.
Value nested(const Tensor& tensor, std::size_t axis, std::int64_t& position) {
  if (axis == tensor.shape().size()) return number_of(tensor, position++);
  List list;
  for (std::int64_t i = 0; i < tensor.shape()[axis]; ++i) list.push_back(nested(tensor, axis + 1, position));
  return list;
}

Value numbers(const Dims& dims) {
  List list;
  for (const std::int64_t value : dims) list.emplace_back(value);
  return list;
}

Value one_or_all(const Dims& dims, const Bound& args) {
  const std::optional<std::int64_t> dim = args.optional_integer("dim");
  if (!dim) return numbers(dims);
  if (dims.empty())
    throw SkipError("Dimension specified as " + std::to_string(*dim) + " but tensor has no dimensions.");
  return dims[static_cast<std::size_t>(normalize_axis(*dim, static_cast<std::int64_t>(dims.size())))];
}

Value identity(const Bound& args) { return args.var("input"); }

Var contiguous(const Var& x) {
  return x.tape().record(x.tensor().contiguous(), {{x, [](const Tensor& g) { return g; }}});
}

}  // namespace

OP("clone(Tensor input)", unary_operator<contiguous>);
NAMES("clone", "Torch: clone; Tensor: clone; Aten: clone");
TRAITS("clone", .copies_only = true);

OP("contiguous(Tensor input)", unary_operator<contiguous>);
NAMES("contiguous", "Tensor: contiguous");
TRAITS("contiguous", .copies_only = true, .recorded_gradients = RecordedGradients::of_passed_input);

OP("detach(Tensor input)", [](const Bound& args) -> Value { return args.tape().constant(args.var("input").tensor()); });
NAMES("detach", "Tensor: detach; Aten: detach");
TRAITS("detach", .copies_only = true);

OP("alias(Tensor input)", identity);
NAMES("alias",
      "Torch: resolve_conj resolve_neg; Tensor: resolve_conj resolve_neg; Aten: alias lift lift_fresh positive");
TRAITS("alias", .copies_only = true);

OP("item(Tensor input)", item);
NAMES("item", "Tensor: item; Aten: item; Mint: item");

OP("bool_value(Tensor input)", truth);
NAMES("bool_value", "Tensor: __bool__ __nonzero__");
TRAITS("bool_value", .complex = true);

OP("tolist(Tensor input)", [](const Bound& args) -> Value {
  std::int64_t position = 0;
  return nested(args.var("input").tensor().contiguous(), 0, position);
});
NAMES("tolist", "Tensor: tolist");

OP("numel(Tensor input)", [](const Bound& args) -> Value { return args.var("input").numel(); });
NAMES("numel", "Torch: numel; Tensor: nelement numel");
TRAITS("numel", .complex = true);

OP("dim(Tensor input)", [](const Bound& args) -> Value { return args.var("input").rank(); });
NAMES("dim", "Tensor: ndimension dim");
TRAITS("dim", .complex = true);

OP("size(Tensor input, int? dim=None)",
   [](const Bound& args) -> Value { return one_or_all(args.var("input").shape(), args); });
NAMES("size", "Tensor: size");
TRAITS("size", .complex = true);

OP("stride(Tensor input, int? dim=None)",
   [](const Bound& args) -> Value { return one_or_all(args.var("input").tensor().strides(), args); });
NAMES("stride", "Tensor: stride");
TRAITS("stride", .complex = true);

OP("is_contiguous(Tensor input)",
   [](const Bound& args) -> Value { return args.var("input").tensor().is_contiguous(); });
NAMES("is_contiguous", "Tensor: is_contiguous");
TRAITS("is_contiguous", .complex = true);

OP("is_same_size(Tensor input, Tensor other)",
   [](const Bound& args) -> Value { return args.var("input").shape() == args.var("other").shape(); });
NAMES("is_same_size", "Aten: is_same_size");
TRAITS("is_same_size", .complex = true);

// Neither of its flags concerns a tensor on an NPU.
OP("_autocast_to_full_precision(Tensor input, bool cuda_enabled, bool cpu_enabled)", identity);
NAMES("_autocast_to_full_precision", "Tensor: _autocast_to_full_precision; Aten: _autocast_to_full_precision");

OP("numpy(Tensor input, *, bool force=False)", identity);
NAMES("numpy", "Tensor: numpy");

}  // namespace msrun
