// Operators that compute gradients of others: the forward operator is run on a tape of its own and differentiated
// (api_inventory.md 4.16).
#include <stdexcept>
#include <string>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/ops/common/functions.h"

namespace msrun {
namespace {

NAMES("linear", "NPU: npu_linear");

OP("npu_bmmV2(Tensor self, Tensor mat2, int[] output_sizes=[])",
   [](const Bound& args) -> Value { return matmul(args.var("self"), args.var("mat2")); });
NAMES("npu_bmmV2", "NPU: npu_bmmV2");

// Gradients of the first output of `canonical` for the tensors `names` of args, which are its first arguments; `rest`
// follows them.
std::vector<Var> gradients_of(const char* canonical, const Bound& args, const std::vector<const char*>& names,
                              const List& rest, const char* cotangent) {
  Tape tape(args.tape().context());
  std::vector<Var> leaves;
  List arguments;
  for (const char* name : names) {
    const Tensor tensor = args.var(name).tensor();
    if (!is_floating(tensor.dtype())) throw SkipError("Gradients need floating-point tensors.");
    leaves.push_back(tape.leaf(tensor));
    arguments.emplace_back(leaves.back());
  }
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  const Value result = find_canonical(canonical)->call(arguments, {}, tape);
  const List* list = result.get<List>();
  const Var* output = list == nullptr ? result.get<Var>() : list->at(0).get<Var>();
  if (output == nullptr) throw std::logic_error(std::string(canonical) + " has no tensor to differentiate");
  tape.backward(*output, args.var(cotangent).tensor());
  std::vector<Var> gradients;
  for (const Var& leaf : leaves) gradients.push_back(args.tape().constant(tape.gradient(leaf)));
  return gradients;
}

OP("matmul_backward(Tensor grad, Tensor self, Tensor other, any mask)", [](const Bound& args) -> Value {
  const Dims wanted = args.ints("mask");
  if (wanted.size() != 2) throw SkipError("matmul_backward: mask must hold two booleans.");
  const std::vector<Var> gradients = gradients_of("matmul", args, {"self", "other"}, {}, "grad");
  List results;
  for (std::size_t i = 0; i < 2; ++i) results.push_back(wanted[i] != 0 ? Value(gradients[i]) : Value(None{}));
  return results;
});
NAMES("matmul_backward", "NPU: matmul_backward");

OP("npu_linear_backward(Tensor grad, Tensor input, Tensor weight)", [](const Bound& args) -> Value {
  const auto gradients = gradients_of("linear", args, {"input", "weight"}, {}, "grad");
  return List{gradients[0], gradients[1]};
});
NAMES("npu_linear_backward", "NPU: npu_linear_backward");

OP("npu_fast_gelu_backward(Tensor grad, Tensor self)",
   [](const Bound& args) -> Value { return gradients_of("npu_fast_gelu", args, {"self"}, {}, "grad")[0]; });
NAMES("npu_fast_gelu_backward", "NPU: npu_fast_gelu_backward");

OP("npu_mish_backward(Tensor grad, Tensor input)",
   [](const Bound& args) -> Value { return gradients_of("mish", args, {"input"}, {}, "grad")[0]; });
NAMES("npu_mish_backward", "NPU: npu_mish_backward");

OP("npu_swiglu_backward(Tensor grad_output, Tensor self, int dim=-1)", [](const Bound& args) -> Value {
  return gradients_of("npu_swiglu", args, {"self"}, {args.value("dim")}, "grad_output")[0];
});
NAMES("npu_swiglu_backward", "NPU: npu_swiglu_backward");

OP("npu_rotary_mul_backward(Tensor grad, Tensor self, Tensor r1, Tensor r2, str rotary_mode='half')",
   [](const Bound& args) -> Value {
     const auto gradients =
         gradients_of("npu_rotary_mul", args, {"self", "r1", "r2"}, {args.value("rotary_mode")}, "grad");
     return List{gradients[0], gradients[1], gradients[2]};
   });
NAMES("npu_rotary_mul_backward", "NPU: npu_rotary_mul_backward");

}  // namespace
}  // namespace msrun
