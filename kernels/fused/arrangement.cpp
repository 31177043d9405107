// Fused operators that select and arrange elements (api_inventory.md 5).
#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/indexed_extremum.h"

namespace msrun {
namespace {

// The indices are those of an int32 kernel.
Value extremum_along(Extremum which, const Bound& args) {
  const auto [values, indices] = indexed_extremum(which, args.var("self"), args.integer("dim"), args.flag("keepdim"));
  return List{values, args.tape().constant(indices.to(DType::int32))};
}

OP("npu_max(Tensor self, int dim, bool keepdim=False)",
   [](const Bound& args) -> Value { return extremum_along(Extremum::maximum, args); });
NAMES("npu_max", "NPU: npu_max");
TRAITS("npu_max", .ties = {.indices = IndexOutput::of_values}, .picks = PickedAxis{1}, .ranks = true);

OP("npu_min(Tensor self, int dim, bool keepdim=False)",
   [](const Bound& args) -> Value { return extremum_along(Extremum::minimum, args); });
NAMES("npu_min", "NPU: npu_min");
TRAITS("npu_min", .ties = {.indices = IndexOutput::of_values}, .picks = PickedAxis{1}, .ranks = true);

// Zeros before and behind the elements of each axis, from the first axis on.
OP("npu_pad(Tensor input, int[] paddings)", [](const Bound& args) -> Value {
  Var x = args.var("input");
  const Dims paddings = args.ints("paddings");
  if (paddings.size() != 2 * x.shape().size()) throw SkipError("npu_pad needs two paddings for every dimension.");
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    const auto zeros = [&](std::int64_t length) {
      if (length < 0) throw SkipError("npu_pad: a padding is negative.");
      Dims shape = x.shape();
      shape[static_cast<std::size_t>(axis)] = length;
      return args.tape().constant(Tensor::zeros(x.dtype(), shape));
    };
    const auto place = 2 * static_cast<std::size_t>(axis);
    x = cat({zeros(paddings[place]), x, zeros(paddings[place + 1])}, axis);
  }
  return x;
});
NAMES("npu_pad", "NPU: npu_pad");
TRAITS("npu_pad", .copies_only = true);

OP("npu_slice(Tensor self, int[] offsets, int[] size)", [](const Bound& args) -> Value {
  Var x = args.var("self");
  const Dims offsets = args.ints("offsets");
  const Dims size = args.ints("size");
  if (offsets.size() != x.shape().size() || size.size() != x.shape().size()) {
    throw SkipError("npu_slice needs an offset and a size for every dimension.");
  }
  for (std::size_t axis = 0; axis < offsets.size(); ++axis) {
    if (offsets[axis] < 0 || size[axis] < 0 || offsets[axis] > x.shape()[axis] - size[axis]) {
      throw SkipError("npu_slice: what is asked for lies beyond dimension " + std::to_string(axis) + ".");
    }
    x = slice(x, static_cast<std::int64_t>(axis), offsets[axis], size[axis]);
  }
  return x;
});
NAMES("npu_slice", "NPU: npu_slice");
TRAITS("npu_slice", .copies_only = true);

// The classes are a new last axis; a number that is no class has no mark.
OP("npu_one_hot(Tensor self, int num_classes=-1, int depth=1, Scalar on_value=1, Scalar off_value=0)",
   [](const Bound& args) -> Value {
     if (args.integer("num_classes") != -1) {
       throw SkipError("npu_one_hot is checked with the classes on the last axis (num_classes=-1) alone.");
     }
     const std::int64_t depth = args.integer("depth");
     if (depth < 1) throw SkipError("npu_one_hot: depth must be at least 1.");
     const Tensor numbers = args.var("self").tensor();
     if (!is_integer(numbers.dtype())) throw SkipError("npu_one_hot needs a tensor of integers.");
     const Tensor index = numbers.to(DType::int64).contiguous();
     Dims shape = index.shape();
     shape.push_back(depth);
     Tensor marked = Tensor::full(DType::float32, shape, args.real("off_value"));
     auto* out = marked.mutable_data<float>();
     for (std::int64_t i = 0; i < index.numel(); ++i) {
       const std::int64_t number = index.data<std::int64_t>()[i];
       if (number >= 0 && number < depth) out[i * depth + number] = static_cast<float>(args.real("on_value"));
     }
     return args.tape().constant(marked);
   });
NAMES("npu_one_hot", "NPU: npu_one_hot");

// Rows of logits against rows of probabilities, which get no gradient.
OP("npu_softmax_cross_entropy_with_logits(Tensor self, Tensor labels)", [](const Bound& args) -> Value {
  const Var x = args.var("self");
  const Tensor labels = args.var("labels").tensor();
  if (x.rank() != 2 || labels.shape() != x.shape()) {
    throw SkipError("npu_softmax_cross_entropy_with_logits needs two tensors of one shape with 2 dimensions.");
  }
  Raised raised;
  const Var logarithms = log_softmax(raised(x), -1);
  return raised.back(neg(sum(mul(logarithms, raised(args.tape().constant(labels))), {-1}, false)));
});
NAMES("npu_softmax_cross_entropy_with_logits", "NPU: npu_softmax_cross_entropy_with_logits");

}  // namespace
}  // namespace msrun
