// Matrix products: matmul and everything that is one with other shapes, ranks or summands (api_inventory.md section 3,
// matmul).
#include "kernels/api/operators.h"
#include "kernels/error.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/functions.h"
#include "kernels/ops/gemm.h"
#include "kernels/ops/reduce.h"

namespace msrun {
namespace {

void need_rank(const Var& x, std::int64_t rank, std::string_view who) {
  if (x.rank() == rank) return;
  throw SkipError(std::string(who) + " needs a tensor of " + std::to_string(rank) + " dimensions, but got shape " +
                  tuple_text(x.shape()) + ".");
}

// At least two axes on both sides.
Var matrix_product(const Var& a, const Var& b) {
  const DType dtype = result_dtype({&a, &b});
  const Tensor left = a.tensor();
  const Tensor right = b.tensor();
  const Arithmetic arithmetic = a.arithmetic();
  Tensor result = product(left, right, dtype, arithmetic);
  return a.tape().record(
      result, {a, b},
      [left, right, arithmetic, dtype, need_a = a.requires_grad(), need_b = b.requires_grad()](const Tensor& g) {
        const Tensor gradient = as_operand(g, product_dtype(dtype), arithmetic);
        std::vector<Tensor> gradients(2);
        if (need_a)
          gradients[0] = product_to(gradient, right.transpose(-1, -2), left.shape(), left.dtype(), arithmetic);
        if (need_b)
          gradients[1] = product_to(left.transpose(-1, -2), gradient, right.shape(), right.dtype(), arithmetic);
        return gradients;
      });
}

// All axes but the last merged.
Tensor rows_of(const Tensor& tensor) {
  const Dims& shape = tensor.shape();
  return tensor.reshape(Dims{element_count(Dims(shape.begin(), shape.end() - 1)), shape.back()});
}

}  // namespace

Var matmul(const Var& a, const Var& b) {
  if (a.rank() == 0 || b.rank() == 0) {
    throw SkipError("Both arguments to matmul need to be at least 1D, but they are " + std::to_string(a.rank()) +
                    "D and " + std::to_string(b.rank()) + "D.");
  }
  if (a.rank() > 1 && b.rank() > 1) return matrix_product(a, b);
  const Var left = a.rank() == 1 ? reshape(a, Dims{1, a.size(0)}) : a;
  const Var right = b.rank() == 1 ? reshape(b, Dims{b.size(0), 1}) : b;
  const Var result = matrix_product(left, right);
  Dims shape = result.shape();
  if (b.rank() == 1) shape.pop_back();
  if (a.rank() == 1) shape.erase(b.rank() == 1 ? shape.end() - 1 : shape.end() - 2);
  return reshape(result, shape);
}

Var linear(const Var& x, const Var& weight, const std::optional<Var>& bias) {
  if (weight.rank() == 1) {
    const Var result = matmul(x, weight);
    return bias ? add(result, *bias) : result;
  }
  need_rank(weight, 2, "linear: the weight");
  if (x.rank() == 0 || x.size(-1) != weight.size(1)) {
    throw SkipError("linear: input of shape " + tuple_text(x.shape()) + " does not fit a weight of shape " +
                    tuple_text(weight.shape()) + ".");
  }
  const DType dtype = bias ? result_dtype({&x, &weight, &*bias}) : result_dtype({&x, &weight});
  const DType compute = product_dtype(dtype);
  const Arithmetic arithmetic = x.arithmetic();
  Dims shape = x.shape();
  shape.back() = weight.size(0);
  const Tensor w = weight.tensor();
  const Tensor input = x.tensor();
  Tensor result = product(rows_of(as_operand(input, compute, arithmetic)), w.transpose(0, 1), compute, arithmetic);
  if (bias) {
    // Added to the unrounded product, so that a half result is rounded once.
    result = map_as(compute_of(compute), dtype, result, bias->tensor(), [](auto y, auto b) { return y + b; });
  }
  std::vector<Var> inputs{x, weight};
  if (bias) inputs.push_back(*bias);
  return x.tape().record(result.to(dtype).reshape(shape), inputs, [inputs, compute, arithmetic](const Tensor& g) {
    const Tensor gradient = rows_of(as_operand(g, compute, arithmetic));
    const Tensor& in = inputs[0].tensor();
    const Tensor& matrix = inputs[1].tensor();
    std::vector<Tensor> gradients(inputs.size());
    if (inputs[0].requires_grad()) {
      gradients[0] = product(gradient, matrix, in.dtype(), arithmetic).reshape(in.shape());
    }
    if (inputs[1].requires_grad()) {
      const Tensor rows = rows_of(as_operand(in, compute, arithmetic));
      gradients[1] = product(gradient.transpose(0, 1), rows, matrix.dtype(), arithmetic);
    }
    if (inputs.size() > 2 && inputs[2].requires_grad()) {
      const Dims& shape_of_bias = inputs[2].shape();
      const bool per_column = shape_of_bias == Dims{gradient.size(1)};
      gradients[2] = per_column ? sum(gradient, Dims{0}, false, arithmetic) : sum_to(gradient, shape_of_bias);
    }
    return gradients;
  });
}

OP("matmul(Tensor input, Tensor other)",
   [](const Bound& args) -> Value { return matmul(args.var("input"), args.var("other")); });
NAMES("matmul", "Torch: matmul linalg.matmul; Tensor: matmul __matmul__ __imatmul__; Aten: matmul; Mint: matmul");

OP("rmatmul(Tensor input, Tensor other)",
   [](const Bound& args) -> Value { return matmul(args.var("other"), args.var("input")); });
NAMES("rmatmul", "Tensor: __rmatmul__");

OP("linear(Tensor input, Tensor weight, Tensor? bias=None)",
   [](const Bound& args) -> Value { return linear(args.var("input"), args.var("weight"), args.optional_var("bias")); });
NAMES("linear", "Functional: linear; Mint: linear; MintFunctional: linear dense");

}  // namespace msrun
