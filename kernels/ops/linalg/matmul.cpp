// Matrix products: matmul and everything that is one with other shapes, ranks or summands (api_inventory.md section 3,
// matmul).
#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/api/operators.h"
#include "kernels/api/product_axes.h"
#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/matrix_product.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/requirements.h"
#include "kernels/tensor/complex.h"

namespace msrun {
namespace {

// Both as they are stored, or both raised.
std::pair<Tensor, Tensor> operands(const Var& a, const Var& b, bool stored) {
  return stored ? std::pair{a.stored(), b.stored()} : std::pair{a.tensor(), b.tensor()};
}

// At least two axes on both sides.
Var matrix_product(const Var& a, const Var& b) {
  const DType dtype = result_dtype({&a, &b});
  const EvaluationContext& context = a.context();
  const auto [left, right] = operands(a, b, multiplies_stored(a.stored(), b.stored(), dtype, context.arithmetic));
  Tensor result = product(left, right, dtype, context);
  return a.tape().record(
      result, {a, b},
      [kept_left = left, kept_right = right, &context, dtype, of_a = a.dtype(), of_b = b.dtype(),
       need_a = a.requires_grad(), need_b = b.requires_grad()](const Tensor& g) {
        const Tensor gradient =
            is_complex(dtype) ? g : as_operand(g, product_dtype(dtype), context.arithmetic.operands.products);
        const auto adjoint = [](const Tensor& t) { return conjugate(t).transpose(-1, -2); };
        std::vector<Tensor> gradients(2);
        if (need_a) gradients[0] = product_to(gradient, adjoint(kept_right), kept_left.shape(), of_a, context);
        if (need_b) gradients[1] = product_to(adjoint(kept_left), gradient, kept_right.shape(), of_b, context);
        return gradients;
      });
}

// All axes but the last merged.
Tensor rows_of(const Tensor& tensor) {
  const Dims& shape = tensor.shape();
  return tensor.reshape(Dims{element_count(Dims(shape.begin(), shape.end() - 1)), shape.back()});
}

// What beta * c + alpha * a b is of a half type whose sums are rounded after every addition, for matrices a and b or
// batches of them: kernels that add so scale c first and add one product after the other to it. Undefined for other
// arithmetic.
Tensor sums_begun_with(const Var& c, double beta, const Var& a, const Var& b, double alpha) {
  const EvaluationContext& context = c.context();
  const DType dtype = result_dtype({&c, &a, &b});
  const bool begins =
      rounds_to_half(context.arithmetic.summation.accumulator) && !context.stores_products() && alpha != 0;
  if (!begins || is_complex(dtype) || product_dtype(dtype) != DType::float32) return {};
  const auto scaled = [dtype](const Tensor& t, double factor) {
    if (factor == 1) return t;
    return map(dtype, t,
               [factor](auto x) { return factor == 0 ? decltype(x){} : x * static_cast<decltype(x)>(factor); });
  };
  return product_onto(scaled(c.tensor(), beta), scaled(a.tensor(), alpha), b.tensor(), context).to(dtype);
}

// alpha * product + beta * c, where c broadcasts to the product; with beta 0 c is not read at all, and with alpha 0 the
// product only if `always` says so. Integers use the whole part of the factors, as torch does. The value of the sum is
// `begun` if that is defined.
Var scaled_sum(const Var& c, const Var& product, double beta, double alpha, bool always = false,
               const Tensor& begun = {}) {
  if (broadcast_shapes(c.shape(), product.shape()) != product.shape()) {
    throw SkipError("A summand of shape " + tuple_text(c.shape()) + " does not broadcast to a product of shape " +
                    tuple_text(product.shape()) + ".");
  }
  const DType dtype = result_dtype({&c, &product});
  if (!is_complex(dtype) && product_dtype(dtype) == DType::int64) {
    alpha = std::trunc(alpha);
    beta = std::trunc(beta);
  }
  const auto combine = complex_too([alpha, beta, drops = alpha == 0 && !always](auto p, auto x) {
    using T = decltype(p);
    const T scaled = alpha == 1 ? p : drops ? T{0} : wrapping_mul(number_as<T>(alpha), p);
    return beta == 0 ? scaled : wrapping_add(scaled, beta == 1 ? x : wrapping_mul(number_as<T>(beta), x));
  });
  const auto scaled_gradient = [](const Tensor& g, double factor) {
    const auto scale = complex_too([factor](auto x) { return x * static_cast<decltype(x)>(factor); });
    return factor == 1 ? g : map(g.dtype(), g, scale);
  };
  Tensor result = begun.defined() ? begun.reshape(product.shape())
                                  : map_as(compute_of(dtype), dtype, product.tensor(), c.tensor(), combine);
  return c.tape().record(
      result,
      {{c, [beta, scaled_gradient, shape = c.shape(), &context = c.context()](
               const Tensor& g) { return sum_to(scaled_gradient(g, beta), shape, context.with_sound_arithmetic()); }},
       {product, [alpha, scaled_gradient](const Tensor& g) { return scaled_gradient(g, alpha); }}});
}

// beta * input + alpha * (a b), rounded once.
Var add_product(const Bound& args, const char* first, const char* second, std::int64_t rank_a, std::int64_t rank_b) {
  Raised raised;
  const Var c = raised(args.var("input"));
  const Var a = raised(args.var(first));
  const Var b = raised(args.var(second));
  require_rank(a, rank_a, first);
  require_rank(b, rank_b, second);
  // Torch leaves a product with alpha 0 to BLAS, which does not read its factors, but that of a batch.
  const bool of_batch = rank_a == 3;
  const double beta = args.real("beta");
  const double alpha = args.real("alpha");
  const Var product = matmul(a, b);
  const Var summand = rank_b > 1 || c.rank() == 0 ? c : reshape(c, Dims{c.size(0), 1});
  const Var factor = rank_b > 1 ? b : reshape(b, Dims{b.size(0), 1});
  return raised.back(scaled_sum(c, product, beta, alpha, of_batch, sums_begun_with(summand, beta, a, factor, alpha)));
}

Var outer(const Var& a, const Var& b) {
  require_rank(a, 1, "outer");
  require_rank(b, 1, "outer");
  return mul(reshape(a, Dims{a.size(0), 1}), reshape(b, Dims{1, b.size(0)}));
}

// Bools: c or the product of the vectors, each if its factor is true.
Var logical_addr(const Var& c, const Var& product, bool beta, bool alpha) {
  if (broadcast_shapes(c.shape(), product.shape()) != product.shape()) {
    throw SkipError("addr: the input of shape " + tuple_text(c.shape()) + " does not fit the vectors.");
  }
  return predicate(c, product, [=](auto x, auto p) { return (beta && x != 0) || (alpha && p != 0); });
}

Var dot(const Var& a, const Var& b) {
  require_rank(a, 1, "dot");
  require_rank(b, 1, "dot");
  return matmul(a, b);
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
  require_rank(weight, 2, "linear: the weight");
  if (x.rank() == 0 || x.size(-1) != weight.size(1)) {
    throw SkipError("linear: input of shape " + tuple_text(x.shape()) + " does not fit a weight of shape " +
                    tuple_text(weight.shape()) + ".");
  }
  const DType dtype = bias ? result_dtype({&x, &weight, &*bias}) : result_dtype({&x, &weight});
  if (is_complex(dtype)) {
    const Var result = matmul(x, transpose(weight, 0, 1));
    return bias ? add(result, *bias) : result;
  }
  const DType compute = product_dtype(dtype);
  const EvaluationContext& context = x.context();
  Dims shape = x.shape();
  shape.back() = weight.size(0);
  const DType of_product = bias ? compute : dtype;
  const bool stored =
      multiplies_stored(rows_of(x.stored()), weight.stored().transpose(0, 1), of_product, context.arithmetic);
  const auto [input, w] = operands(x, weight, stored);
  // A bias is added to the unrounded product, so that a half result is rounded once.
  Tensor result = product(rows_of(input), w.transpose(0, 1), of_product, context);
  if (bias) {
    result =
        map_as(compute_of(compute), dtype, result, bias->tensor(), [](auto y, auto b) { return wrapping_add(y, b); });
  }
  // One by one, so that each frees what it alone needs before the next makes its gradient.
  std::vector<Edge> edges;
  edges.push_back({x, [kept_weight = w, in = x.dtype(), shape_of_x = x.shape(), &context](const Tensor& g) {
                     return product(rows_of(g), kept_weight, in, context).reshape(shape_of_x);
                   }});
  edges.push_back({weight, [kept_input = input, of_weight = weight.dtype(), &context](const Tensor& g) {
                     return product(rows_of(g).transpose(0, 1), rows_of(kept_input), of_weight, context);
                   }});
  if (bias) {
    edges.push_back({*bias, [shape_of_bias = bias->shape(), compute, &context](const Tensor& g) {
                       const Tensor gradient = rows_of(g.to(compute));
                       const bool per_column = shape_of_bias == Dims{gradient.size(1)};
                       return per_column ? sum(gradient, Dims{0}, false, context)
                                         : sum_to(gradient, shape_of_bias, context.with_sound_arithmetic());
                     }});
  }
  return x.tape().record(result.reshape(shape), std::move(edges));
}

// Multiply-adds of a product of two recorded matrices, batches of them or a vector: of each element of a with each
// column of b.
double product_work(const TensorSpec* a, const TensorSpec* b) {
  if (a == nullptr || b == nullptr || b->shape.empty()) return 0;
  const std::int64_t columns = b->shape.size() > 1 ? b->shape.back() : 1;
  return recorded_elements(*a) * static_cast<double>(std::max<std::int64_t>(columns, 0));
}

double product_work(const List& args) { return product_work(recorded_tensor(args, 0), recorded_tensor(args, 1)); }

// With a summand in front. The factors are the last tensors, whatever numbers are among the arguments.
double added_product_work(const List& args) {
  std::vector<const TensorSpec*> tensors;
  for (const Value& arg : args) {
    if (const TensorSpec* tensor = recorded_tensor(arg)) tensors.push_back(tensor);
  }
  return tensors.size() < 3 ? 0 : product_work(tensors[1], tensors[2]);
}

// The rows of the weight are the outputs.
double linear_work(const List& args) {
  const TensorSpec* input = recorded_tensor(args, 0);
  const TensorSpec* weight = recorded_tensor(args, 1);
  if (input == nullptr || weight == nullptr || weight->shape.empty()) return 0;
  return recorded_elements(*input) * static_cast<double>(std::max<std::int64_t>(weight->shape.front(), 0));
}

// --- Which axes are an index of the product (kernels/api/product_axes.h).

// The longest axis but the last two, or -2: of a factor whose rows are multiplied with one matrix all of them are rows.
std::int64_t longest_row_axis(const Tensor& tensor) {
  std::int64_t longest = -2;
  for (std::int64_t axis = 0; axis + 2 < tensor.rank(); ++axis) {
    if (tensor.size(axis) > tensor.size(longest)) longest = axis - tensor.rank();
  }
  return longest;
}

// The axes of a[.., i, k] b[.., k, j], to which a summand that may have rows and columns of its own is added; an empty
// name stands for no summand.
std::vector<ProductAxis> axes_of_product(const GivenArguments& given, std::string_view first, std::string_view second,
                                         std::string_view summand = {}) {
  const Tensor* a = given.tensor(first);
  const Tensor* b = given.tensor(second);
  if (a == nullptr || b == nullptr || a->rank() < 2 || b->rank() < 2) return {};
  const std::int64_t of_rows = b->rank() == 2 && summand.empty() ? longest_row_axis(*a) : -2;
  ProductAxis rows{{{first, of_rows}}, of_rows};
  ProductAxis columns{{{second, -1}}, -1};
  if (!summand.empty()) {
    const Tensor* c = given.tensor(summand);
    if (c == nullptr) return {};
    const auto add = [&](ProductAxis& axis, std::int64_t at, std::int64_t size) {
      axis.adds = c->rank() < -at || c->size(at) != size;
      if (!axis.adds) axis.arguments.push_back({summand, at});
    };
    add(rows, -2, a->size(-2));
    add(columns, -1, b->size(-1));
  }
  return {rows, columns, {{{first, -1}, {second, -2}}}};
}

std::vector<ProductAxis> axes_of_linear(const GivenArguments& given) {
  const Tensor* input = given.tensor("input");
  const Tensor* weight = given.tensor("weight");
  const Tensor* bias = given.tensor("bias");
  if (input == nullptr || weight == nullptr || input->rank() < 2 || weight->rank() != 2) return {};
  if (bias != nullptr && (bias->rank() != 1 || bias->size(0) != weight->size(0))) return {};
  const std::int64_t of_rows = longest_row_axis(*input);
  ProductAxis features{{{"weight", 0}}, -1};
  if (bias != nullptr) features.arguments.push_back({"bias", 0});
  return {{{{"input", of_rows}}, of_rows, bias != nullptr}, features, {{{"input", -1}, {"weight", 1}}}};
}

Value added_matrices(const Bound& args) { return add_product(args, "mat1", "mat2", 2, 2); }
Value added_vector(const Bound& args) { return add_product(args, "mat", "vec", 2, 1); }
Value added_batches(const Bound& args) { return add_product(args, "batch1", "batch2", 3, 3); }

Value added_outer(const Bound& args) {
  Raised raised;
  const Var c = raised(args.var("input"));
  const Var a = raised(args.var("vec1"));
  const Var b = raised(args.var("vec2"));
  if (c.dtype() == DType::boolean && a.dtype() == DType::boolean && b.dtype() == DType::boolean) {
    return logical_addr(c, outer(a, b), args.real("beta") != 0, args.real("alpha") != 0);
  }
  return raised.back(scaled_sum(c, outer(a, b), args.real("beta"), args.real("alpha"), true));
}

Value summed_batches(const Bound& args) {
  Raised raised;
  const Var c = raised(args.var("input"));
  const Var a = raised(args.var("batch1"));
  const Var b = raised(args.var("batch2"));
  require_rank(a, 3, "addbmm");
  require_rank(b, 3, "addbmm");
  const double beta = args.real("beta");
  const double alpha = args.real("alpha");
  if (a.context().stores_products() && a.size(0) > 0 && a.size(0) == b.size(0)) {
    // One product after the other is added to what is there.
    Var total = scaled_sum(c, matmul(select(a, 0, 0), select(b, 0, 0)), beta, alpha);
    for (std::int64_t i = 1; i < a.size(0); ++i)
      total = scaled_sum(total, matmul(select(a, 0, i), select(b, 0, i)), 1, alpha);
    return raised.back(total);
  }
  // The sum over the batch is part of the contraction.
  const Var product = contract(a, b, Dims{0, 2}, Dims{0, 1});
  const Var rows = reshape(permute(a, Dims{1, 0, 2}), Dims{a.size(1), a.size(0) * a.size(2)});
  const Var columns = reshape(b, Dims{b.size(0) * b.size(1), b.size(2)});
  return raised.back(scaled_sum(c, product, beta, alpha, false, sums_begun_with(c, beta, rows, columns, alpha)));
}

OP("matmul(Tensor input, Tensor other)",
   [](const Bound& args) -> Value { return matmul(args.var("input"), args.var("other")); });
NAMES("matmul", "Torch: matmul linalg.matmul; Tensor: matmul __matmul__ __imatmul__; Aten: matmul; Mint: matmul");
TRAITS("matmul", .autocast = AutocastPolicy::lower, .complex = true, .rounds_once = true, .multiply_adds = product_work,
       .recorded_gradients = RecordedGradients::of_last_step, .recorded_as = "matmul");
PRODUCT_AXES("matmul", [](const GivenArguments& given) { return axes_of_product(given, "input", "other"); });

OP("rmatmul(Tensor input, Tensor other)",
   [](const Bound& args) -> Value { return matmul(args.var("other"), args.var("input")); });
NAMES("rmatmul", "Tensor: __rmatmul__");
TRAITS("rmatmul", .complex = true);
PRODUCT_AXES("rmatmul", [](const GivenArguments& given) { return axes_of_product(given, "other", "input"); });

OP("linear(Tensor input, Tensor weight, Tensor? bias=None)",
   [](const Bound& args) -> Value { return linear(args.var("input"), args.var("weight"), args.optional_var("bias")); });
NAMES("linear", "Functional: linear; Mint: linear; MintFunctional: linear dense");
TRAITS("linear", .autocast = AutocastPolicy::lower, .complex = true, .rounds_once = true, .multiply_adds = linear_work,
       .recorded_gradients = RecordedGradients::of_addmm);
PRODUCT_AXES("linear", axes_of_linear);

OP("mm(Tensor input, Tensor mat2)", [](const Bound& args) -> Value {
  require_rank(args.var("input"), 2, "mm");
  require_rank(args.var("mat2"), 2, "mm");
  return matmul(args.var("input"), args.var("mat2"));
});
NAMES("mm", "Torch: mm dsmm spmm; Tensor: mm; Aten: mm");
TRAITS("mm", .autocast = AutocastPolicy::lower, .complex = true, .rounds_once = true, .multiply_adds = product_work);
PRODUCT_AXES("mm", [](const GivenArguments& given) { return axes_of_product(given, "input", "mat2"); });

OP("bmm(Tensor input, Tensor mat2)", [](const Bound& args) -> Value {
  require_rank(args.var("input"), 3, "bmm");
  require_rank(args.var("mat2"), 3, "bmm");
  if (args.var("input").size(0) != args.var("mat2").size(0)) throw SkipError("bmm: the batch sizes differ.");
  return matmul(args.var("input"), args.var("mat2"));
});
NAMES("bmm", "Torch: bmm; Tensor: bmm; Aten: bmm; Mint: bmm");
TRAITS("bmm", .autocast = AutocastPolicy::lower, .complex = true, .rounds_once = true, .multiply_adds = product_work);
PRODUCT_AXES("bmm", [](const GivenArguments& given) { return axes_of_product(given, "input", "mat2"); });

OP("mv(Tensor input, Tensor vec)", [](const Bound& args) -> Value {
  require_rank(args.var("input"), 2, "mv");
  require_rank(args.var("vec"), 1, "mv");
  return matmul(args.var("input"), args.var("vec"));
});
NAMES("mv", "Torch: mv; Tensor: mv; Aten: mv");
TRAITS("mv", .autocast = AutocastPolicy::lower, .complex = true, .rounds_once = true, .multiply_adds = product_work);

OP("dot(Tensor input, Tensor tensor)",
   [](const Bound& args) -> Value { return dot(args.var("input"), args.var("tensor")); });
NAMES("dot", "Torch: dot; Tensor: dot; Aten: dot");
TRAITS("dot", .complex = true);

OP("vdot(Tensor input, Tensor other)",
   [](const Bound& args) -> Value { return dot(conjugate(args.var("input")), args.var("other")); });
NAMES("vdot", "Torch: vdot; Tensor: vdot; Aten: vdot");
TRAITS("vdot", .complex = true);

OP("inner(Tensor input, Tensor other)", [](const Bound& args) -> Value {
  const Var a = args.var("input");
  const Var b = args.var("other");
  return a.rank() == 0 || b.rank() == 0 ? mul(a, b) : contract(a, b, Dims{-1}, Dims{-1});
});
NAMES("inner", "Torch: inner; Tensor: inner");
TRAITS("inner", .autocast = AutocastPolicy::lower, .complex = true);

OP("outer(Tensor input, Tensor vec2)",
   [](const Bound& args) -> Value { return outer(args.var("input"), args.var("vec2")); });
NAMES("outer", "Torch: outer ger; Tensor: outer ger; Mint: outer");
TRY_FIRST("outer", Trial::of_sizes);
TRAITS("outer", .complex = true, .recorded_gradients = RecordedGradients::of_last_step);

// A product that is added to the input. The orders of early versions, which torch still takes, have the factors before
// what they multiply: of functions the first two, of methods, whose input is in front, the others.
#define ADDED_PRODUCT(name, first, second, function)                                                          \
  OP(name "(Tensor input, Tensor " first ", Tensor " second ", *, Scalar beta=1, Scalar alpha=1)", function); \
  OP(name "(Scalar beta, Tensor input, Scalar alpha, Tensor " first ", Tensor " second ")", function);        \
  OP(name "(Scalar beta, Tensor input, Tensor " first ", Tensor " second ", *, Scalar alpha=1)", function);   \
  OP(name "(Tensor input, Scalar beta, Scalar alpha, Tensor " first ", Tensor " second ")", function);        \
  OP(name "(Tensor input, Scalar beta, Tensor " first ", Tensor " second ", *, Scalar alpha=1)", function)

ADDED_PRODUCT("addmm", "mat1", "mat2", added_matrices);
NAMES("addmm", "Torch: addmm; Tensor: addmm addmm_; Aten: addmm addmm_");
TRAITS("addmm", .autocast = AutocastPolicy::lower, .complex = true, .multiply_adds = added_product_work);
PRODUCT_AXES("addmm", [](const GivenArguments& given) { return axes_of_product(given, "mat1", "mat2", "input"); });

// With its factors also by position.
OP("saddmm(Tensor input, Tensor mat1, Tensor mat2, Scalar beta=1, Scalar alpha=1)",
   [](const Bound& args) -> Value { return add_product(args, "mat1", "mat2", 2, 2); });
NAMES("saddmm", "Torch: saddmm");
TRAITS("saddmm", .complex = true);
PRODUCT_AXES("saddmm", [](const GivenArguments& given) { return axes_of_product(given, "mat1", "mat2", "input"); });

ADDED_PRODUCT("addmv", "mat", "vec", added_vector);
NAMES("addmv", "Torch: addmv addmv_; Tensor: addmv addmv_; Aten: addmv addmv_");
TRAITS("addmv", .autocast = AutocastPolicy::lower, .complex = true);

ADDED_PRODUCT("baddbmm", "batch1", "batch2", added_batches);
NAMES("baddbmm", "Torch: baddbmm; Tensor: baddbmm baddbmm_; Aten: baddbmm baddbmm_; Mint: baddbmm baddbmm_ex");
TRAITS("baddbmm", .autocast = AutocastPolicy::lower, .complex = true, .multiply_adds = added_product_work);
PRODUCT_AXES("baddbmm",
             [](const GivenArguments& given) { return axes_of_product(given, "batch1", "batch2", "input"); });

ADDED_PRODUCT("addr", "vec1", "vec2", added_outer);
NAMES("addr", "Torch: addr; Tensor: addr addr_; Aten: addr");
TRAITS("addr", .autocast = AutocastPolicy::lower, .complex = true);

ADDED_PRODUCT("addbmm", "batch1", "batch2", summed_batches);
NAMES("addbmm", "Torch: addbmm; Tensor: addbmm addbmm_; Aten: addbmm addbmm_");
TRAITS("addbmm", .autocast = AutocastPolicy::lower, .complex = true, .multiply_adds = added_product_work);

}  // namespace msrun
