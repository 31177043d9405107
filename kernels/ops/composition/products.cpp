// The last steps of products: mostly the view of what one of torch's matrix products gives.
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/ops/composition/steps.h"

namespace msrun {
namespace {

// A product of two or three dimensions is viewed in the shape of the result. Where the second factor has the more
// dimensions, it is that of the transposed factors.
LastStep view_of_product(const Var& output, std::int64_t first_rank, std::int64_t second_rank) {
  return first_rank < second_rank ? moving_step(output) : viewing_step(output);
}
LAST_STEPS("matmul", [](const ComposedCall& call) -> LastSteps {
  return {{view_of_product(call.output, call.var("input").rank(), call.var("other").rank())}};
});
LAST_STEPS("tensordot", viewing_steps);
LAST_STEPS("inner", viewing_steps);
LAST_STEPS("kron", viewing_steps);
LAST_STEPS("chain_matmul", viewing_steps);
LAST_STEPS("linalg_multi_dot", viewing_steps);

// The factors of this product are its arguments in reverse order.
LAST_STEPS("rmatmul", [](const ComposedCall& call) -> LastSteps {
  const Var left = call.var("other");
  const Var right = call.var("input");
  return {{view_of_product(call.output, left.rank(), right.rank()), {call.output, {left, right}}}};
});

// The factors of the last product are known of the second and the third power alone. A power of several matrices is a
// view of the product.
LAST_STEPS("linalg_matrix_power", [](const ComposedCall& call) -> LastSteps {
  const Var x = call.var("input");
  const std::int64_t power = call.args.integer("n");
  if (power == 1) return {{viewing_step(call.output)}};
  LastSteps steps;
  if (power == 2 || power == 3) {
    steps.known.push_back(
        step_of({power == 2 ? x : matmul(x, x), x}, [](const auto& in) { return matmul(in[0], in[1]); }));
  } else {
    steps.of_unknown = 2;
  }
  if (x.rank() > 2) steps.known.push_back(viewing_step(call.output));
  return steps;
});

// One node, of the factors and then of the right side, as linalg.lu_solve has them.
LAST_STEPS("lu_solve", [](const ComposedCall& call) -> LastSteps {
  const Var factors = call.var("LU_data");
  if (!is_floating(factors.dtype())) return {{whole_call(call.output)}};
  return {{{call.output, {factors, call.var("input")}}}};
});

// The sum of the products.
LAST_STEPS("linalg_vecdot", [](const ComposedCall& call) -> LastSteps {
  const Dims axes{call.args.integer("dim")};
  return {{step_of({mul(call.var("x"), call.var("y"))}, [&](const auto& in) { return sum(in[0], axes, false); })}};
});

// A product of inputs with more than two dimensions is viewed in the shape of the result; a bias may be added last.
LastSteps linear_steps(const ComposedCall& call) {
  LastSteps steps{{viewing_step(call.output)}};
  if (const std::optional<Var> bias = call.args.optional_var("bias")) {
    steps.known.push_back(step_of({call.output, *bias}, [](const auto& in) { return add(in[0], in[1]); }));
  }
  return steps;
}
LAST_STEPS("linear", linear_steps);
LAST_STEPS("bilinear", linear_steps);

// A column times a vector.
LastSteps outer_steps(const ComposedCall& call) {
  const Var column = reshape(call.var("input"), Dims{call.var("input").numel(), 1});
  return {{step_of({column, call.var("vec2")}, [](const auto& in) { return mul(in[0], in[1]); })}};
}
LAST_STEPS("outer", outer_steps);

// The view of a product, the sum over what is left, or the product of two operands that are laid out alike. Of three
// operands and more, the first factor of the last product is none of the operands.
LastSteps einsum_steps(const ComposedCall& call) {
  return {{moving_step(call.output), {call.output, {}, true}}, call.tensors > 2 ? 2U : 0U};
}
LAST_STEPS("einsum", einsum_steps);

// Probabilities times values; their view where there are more than three dimensions.
LastSteps attention_steps(const ComposedCall& call) {
  LastSteps steps{{moving_step(call.output)}};
  const Var query = call.var("query");
  const Var key = call.var("key");
  if (query.rank() != 3 || call.args.flag("enable_gqa")) return steps;
  const double scale = call.args.optional_real("scale").value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  Var scores = mul(matmul(query, transpose(key, 1, 2)), scale);
  const auto only_where = [&](const Var& kept) {
    const double never = -std::numeric_limits<double>::infinity();
    return where(kept, scores, call.args.tape().constant(Tensor::full(scores.dtype(), scores.shape(), never)));
  };
  if (const std::optional<Var> mask = call.args.optional_var("attn_mask")) {
    scores = mask->dtype() == DType::boolean ? only_where(*mask) : add(scores, *mask);
  } else if (call.args.flag("is_causal")) {
    const Var ones = call.args.tape().constant(Tensor::full(DType::float32, scores.shape(), 1));
    scores = only_where(call.args.tape().constant(triangle(ones, 0, true).tensor().to(DType::boolean)));
  }
  steps.known.push_back(
      step_of({softmax(scores, -1), call.var("value")}, [](const auto& in) { return matmul(in[0], in[1]); }));
  return steps;
}
LAST_STEPS("scaled_dot_product_attention", attention_steps);

// The view of the projected result.
LAST_STEPS("multi_head_attention_forward", viewing_steps);

}  // namespace
}  // namespace msrun
