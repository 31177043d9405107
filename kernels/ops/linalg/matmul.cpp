// Matrix products: matmul and everything that is one with other shapes, ranks or summands (api_inventory.md section 3,
// matmul).
#include <algorithm>
#include <cmath>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/gemm.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/tensor/complex.h"

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
        const Tensor gradient = is_complex(dtype) ? g : as_operand(g, product_dtype(dtype), arithmetic);
        const auto adjoint = [](const Tensor& t) { return conjugate(t).transpose(-1, -2); };
        std::vector<Tensor> gradients(2);
        if (need_a) gradients[0] = product_to(gradient, adjoint(right), left.shape(), left.dtype(), arithmetic);
        if (need_b) gradients[1] = product_to(adjoint(left), gradient, right.shape(), right.dtype(), arithmetic);
        return gradients;
      });
}

// All axes but the last merged.
Tensor rows_of(const Tensor& tensor) {
  const Dims& shape = tensor.shape();
  return tensor.reshape(Dims{element_count(Dims(shape.begin(), shape.end() - 1)), shape.back()});
}

// alpha * product + beta * c, where c broadcasts to the product; with beta 0 c is not read at all. Integers use the
// whole part of the factors, as torch does.
Var scaled_sum(const Var& c, const Var& product, double beta, double alpha) {
  if (broadcast_shapes(c.shape(), product.shape()) != product.shape()) {
    throw SkipError("A summand of shape " + tuple_text(c.shape()) + " does not broadcast to a product of shape " +
                    tuple_text(product.shape()) + ".");
  }
  const DType dtype = result_dtype({&c, &product});
  if (!is_complex(dtype) && product_dtype(dtype) == DType::int64) {
    alpha = std::trunc(alpha);
    beta = std::trunc(beta);
  }
  const auto combine = complex_too([alpha, beta](auto p, auto x) {
    using T = decltype(p);
    const T scaled = alpha == 1 ? p : wrapping_mul(number_as<T>(alpha), p);
    return beta == 0 ? scaled : wrapping_add(scaled, beta == 1 ? x : wrapping_mul(number_as<T>(beta), x));
  });
  const auto scaled_gradient = [](const Tensor& g, double factor) {
    const auto scale = complex_too([factor](auto x) { return x * static_cast<decltype(x)>(factor); });
    return factor == 1 ? g : map(g.dtype(), g, scale);
  };
  Tensor result = map_as(compute_of(dtype), dtype, product.tensor(), c.tensor(), combine);
  return c.tape().record(result,
                         {{c, [beta, scaled_gradient,
                               shape = c.shape()](const Tensor& g) { return sum_to(scaled_gradient(g, beta), shape); }},
                          {product, [alpha, scaled_gradient](const Tensor& g) { return scaled_gradient(g, alpha); }}});
}

// beta * input + alpha * (a b), rounded once.
Var add_product(const Bound& args, const char* first, const char* second, std::int64_t rank_a, std::int64_t rank_b) {
  Raised raised;
  const Var c = raised(args.var("input"));
  const Var a = raised(args.var(first));
  const Var b = raised(args.var(second));
  need_rank(a, rank_a, first);
  need_rank(b, rank_b, second);
  return raised.back(scaled_sum(c, matmul(a, b), args.real("beta"), args.real("alpha")));
}

Var outer(const Var& a, const Var& b) {
  need_rank(a, 1, "outer");
  need_rank(b, 1, "outer");
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
  need_rank(a, 1, "dot");
  need_rank(b, 1, "dot");
  return matmul(a, b);
}

// The listed axes of a with those of b; the others in their order, first those of a.
Var contract(const Var& a, const Var& b, const Dims& axes_a, const Dims& axes_b) {
  if (axes_a.size() != axes_b.size())
    throw SkipError("tensordot needs as many dimensions of one tensor as of the other.");
  const auto order = [](const Var& x, const Dims& axes, bool contracted_first, Dims& free_shape) {
    Dims contracted;
    for (const std::int64_t axis : axes) {
      const std::int64_t at = normalize_axis(axis, x.rank());
      if (x.rank() == 0 || std::find(contracted.begin(), contracted.end(), at) != contracted.end()) {
        throw SkipError("tensordot: a dimension to contract does not exist or appears twice.");
      }
      contracted.push_back(at);
    }
    Dims all;
    for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
      if (std::find(contracted.begin(), contracted.end(), axis) != contracted.end()) continue;
      all.push_back(axis);
      free_shape.push_back(x.size(axis));
    }
    for (std::size_t i = 0; i < contracted.size(); ++i) {
      all.insert(contracted_first ? all.begin() + static_cast<std::ptrdiff_t>(i) : all.end(), contracted[i]);
    }
    return all;
  };
  Dims free_a;
  Dims free_b;
  const Dims order_a = order(a, axes_a, false, free_a);
  const Dims order_b = order(b, axes_b, true, free_b);
  std::int64_t inner = 1;
  for (std::size_t i = 0; i < axes_a.size(); ++i) {
    if (a.size(axes_a[i]) != b.size(axes_b[i])) throw SkipError("tensordot: the contracted dimensions differ in size.");
    inner *= a.size(axes_a[i]);
  }
  const Var left = reshape(permute(a, order_a), Dims{element_count(free_a), inner});
  const Var right = reshape(permute(b, order_b), Dims{inner, element_count(free_b)});
  Dims shape = free_a;
  for (const std::int64_t size : free_b) shape.push_back(size);
  return reshape(matmul(left, right), shape);
}

Dims integers_of(const Value& value) {
  Dims result;
  if (const auto* integer = value.get<std::int64_t>()) result.push_back(*integer);
  if (const List* list = value.get<List>()) {
    for (const Value& item : *list) {
      const auto* integer = item.get<std::int64_t>();
      if (integer == nullptr) throw SkipError("tensordot: dims must be integers.");
      result.push_back(*integer);
    }
  }
  return result;
}

// dims: how many axes to contract, or the two lists of them.
Var tensordot(const Var& a, const Var& b, const Value& dims) {
  if (const auto* count = dims.get<std::int64_t>()) {
    if (*count < 0 || *count > a.rank() || *count > b.rank()) {
      throw SkipError("tensordot: cannot contract " + std::to_string(*count) + " dimensions.");
    }
    Dims axes_a;
    Dims axes_b;
    for (std::int64_t i = 0; i < *count; ++i) {
      axes_a.push_back(a.rank() - *count + i);
      axes_b.push_back(i);
    }
    return contract(a, b, axes_a, axes_b);
  }
  const List* lists = dims.get<List>();
  if (lists == nullptr || lists->size() != 2) throw SkipError("tensordot: dims must be a number or two lists.");
  return contract(a, b, integers_of((*lists)[0]), integers_of((*lists)[1]));
}

Var kron(const Var& a, const Var& b) {
  const auto rank = static_cast<std::size_t>(std::max(a.rank(), b.rank()));
  Dims shape_a;
  Dims shape_b;
  Dims shape;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t lack_a = rank - a.shape().size();
    const std::size_t lack_b = rank - b.shape().size();
    const std::int64_t size_a = i < lack_a ? 1 : a.shape()[i - lack_a];
    const std::int64_t size_b = i < lack_b ? 1 : b.shape()[i - lack_b];
    shape_a.push_back(size_a);
    shape_a.push_back(1);
    shape_b.push_back(1);
    shape_b.push_back(size_b);
    shape.push_back(size_a * size_b);
  }
  return reshape(mul(reshape(a, shape_a), reshape(b, shape_b)), shape);
}

// y_k = x1^T W_k x2 + b_k over the last axes.
Var bilinear(const Var& x1, const Var& x2, const Var& weight, const std::optional<Var>& bias) {
  need_rank(weight, 3, "bilinear: the weight");
  const std::int64_t out = weight.size(0);
  Dims shape = x1.shape();
  if (shape.empty() || x2.rank() != x1.rank() || shape.back() != weight.size(1) || x2.size(-1) != weight.size(2)) {
    throw SkipError("bilinear: inputs of shapes " + tuple_text(x1.shape()) + " and " + tuple_text(x2.shape()) +
                    " do not fit a weight of shape " + tuple_text(weight.shape()) + ".");
  }
  shape.pop_back();
  const std::int64_t rows = element_count(shape);
  const Var matrices = reshape(permute(weight, Dims{1, 0, 2}), Dims{weight.size(1), out * weight.size(2)});
  const Var left = matmul(reshape(x1, Dims{rows, weight.size(1)}), matrices);
  const Var products =
      matmul(reshape(left, Dims{rows, out, weight.size(2)}), reshape(x2, Dims{rows, weight.size(2), 1}));
  shape.push_back(out);
  const Var result = reshape(products, shape);
  return bias ? add(result, *bias) : result;
}

// The product in the order that needs the fewest multiplications.
class Chain {
 public:
  explicit Chain(std::vector<Var> matrices) : matrices_(std::move(matrices)), split_(matrices_.size()) {
    const std::size_t count = matrices_.size();
    std::vector<double> size{static_cast<double>(matrices_.front().size(0))};
    for (std::size_t i = 0; i < count; ++i) {
      need_rank(matrices_[i], 2, "A chain of matrix products");
      size.push_back(static_cast<double>(matrices_[i].size(1)));
    }
    std::vector<std::vector<double>> cost(count, std::vector<double>(count, 0));
    for (auto& row : split_) row.resize(count);
    for (std::size_t length = 2; length <= count; ++length) {
      for (std::size_t first = 0; first + length <= count; ++first) {
        const std::size_t last = first + length - 1;
        for (std::size_t at = first; at < last; ++at) {
          const double total = cost[first][at] + cost[at + 1][last] + size[first] * size[at + 1] * size[last + 1];
          if (at == first || total < cost[first][last]) {
            cost[first][last] = total;
            split_[first][last] = at;
          }
        }
      }
    }
  }
  Var product() const { return product(0, matrices_.size() - 1); }

 private:
  Var product(std::size_t first, std::size_t last) const {
    if (first == last) return matrices_[first];
    return matmul(product(first, split_[first][last]), product(split_[first][last] + 1, last));
  }
  std::vector<Var> matrices_;
  std::vector<std::vector<std::size_t>> split_;
};

Var multi_dot(std::vector<Var> factors) {
  if (factors.empty()) throw SkipError("A chain of matrix products needs at least one matrix.");
  Raised raised;
  for (Var& factor : factors) factor = raised(factor);
  if (factors.size() == 1) return raised.back(factors[0]);
  // The first and the last factor may be vectors.
  const bool row = factors.front().rank() == 1;
  const bool column = factors.back().rank() == 1;
  if (row) factors.front() = reshape(factors.front(), Dims{1, factors.front().size(0)});
  if (column) factors.back() = reshape(factors.back(), Dims{factors.back().size(0), 1});
  const Var result = Chain(factors).product();
  Dims shape;
  if (!row) shape.push_back(result.size(0));
  if (!column) shape.push_back(result.size(1));
  return raised.back(reshape(result, shape));
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
  if (is_complex(dtype)) {
    const Var result = matmul(x, transpose(weight, 0, 1));
    return bias ? add(result, *bias) : result;
  }
  const DType compute = product_dtype(dtype);
  const Arithmetic arithmetic = x.arithmetic();
  Dims shape = x.shape();
  shape.back() = weight.size(0);
  const Tensor w = weight.tensor();
  const Tensor input = x.tensor();
  Tensor result = product(rows_of(as_operand(input, compute, arithmetic)), w.transpose(0, 1), compute, arithmetic);
  if (bias) {
    // Added to the unrounded product, so that a half result is rounded once.
    result =
        map_as(compute_of(compute), dtype, result, bias->tensor(), [](auto y, auto b) { return wrapping_add(y, b); });
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

// Multiply-adds of a product of two recorded matrices, batches of them or a vector: of each element of a with each
// column of b.
double product_work(const TensorSpec* a, const TensorSpec* b) {
  if (a == nullptr || b == nullptr || b->shape.empty()) return 0;
  const std::int64_t columns = b->shape.size() > 1 ? b->shape.back() : 1;
  return recorded_elements(*a) * static_cast<double>(std::max<std::int64_t>(columns, 0));
}

double product_work(const List& args) { return product_work(recorded_tensor(args, 0), recorded_tensor(args, 1)); }

// With a summand in front.
double added_product_work(const List& args) { return product_work(recorded_tensor(args, 1), recorded_tensor(args, 2)); }

// The rows of the weight are the outputs.
double linear_work(const List& args) {
  const TensorSpec* input = recorded_tensor(args, 0);
  const TensorSpec* weight = recorded_tensor(args, 1);
  if (input == nullptr || weight == nullptr || weight->shape.empty()) return 0;
  return recorded_elements(*input) * static_cast<double>(std::max<std::int64_t>(weight->shape.front(), 0));
}

OP("matmul(Tensor input, Tensor other)",
   [](const Bound& args) -> Value { return matmul(args.var("input"), args.var("other")); });
NAMES("matmul", "Torch: matmul linalg.matmul; Tensor: matmul __matmul__ __imatmul__; Aten: matmul; Mint: matmul");
TRAITS("matmul", .autocast = AutocastPolicy::lower, .complex = true, .multiply_adds = product_work,
       .recorded_gradients = RecordedGradients::of_last_step, .recorded_as = "matmul");

OP("rmatmul(Tensor input, Tensor other)",
   [](const Bound& args) -> Value { return matmul(args.var("other"), args.var("input")); });
NAMES("rmatmul", "Tensor: __rmatmul__");
TRAITS("rmatmul", .complex = true);

OP("linear(Tensor input, Tensor weight, Tensor? bias=None)",
   [](const Bound& args) -> Value { return linear(args.var("input"), args.var("weight"), args.optional_var("bias")); });
NAMES("linear", "Functional: linear; Mint: linear; MintFunctional: linear dense");
TRAITS("linear", .autocast = AutocastPolicy::lower, .complex = true, .multiply_adds = linear_work,
       .recorded_gradients = RecordedGradients::of_addmm);

OP("mm(Tensor input, Tensor mat2)", [](const Bound& args) -> Value {
  need_rank(args.var("input"), 2, "mm");
  need_rank(args.var("mat2"), 2, "mm");
  return matmul(args.var("input"), args.var("mat2"));
});
NAMES("mm", "Torch: mm dsmm spmm; Tensor: mm; Aten: mm");
TRAITS("mm", .autocast = AutocastPolicy::lower, .complex = true, .multiply_adds = product_work);

OP("bmm(Tensor input, Tensor mat2)", [](const Bound& args) -> Value {
  need_rank(args.var("input"), 3, "bmm");
  need_rank(args.var("mat2"), 3, "bmm");
  if (args.var("input").size(0) != args.var("mat2").size(0)) throw SkipError("bmm: the batch sizes differ.");
  return matmul(args.var("input"), args.var("mat2"));
});
NAMES("bmm", "Torch: bmm; Tensor: bmm; Aten: bmm; Mint: bmm");
TRAITS("bmm", .autocast = AutocastPolicy::lower, .complex = true, .multiply_adds = product_work);

OP("mv(Tensor input, Tensor vec)", [](const Bound& args) -> Value {
  need_rank(args.var("input"), 2, "mv");
  need_rank(args.var("vec"), 1, "mv");
  return matmul(args.var("input"), args.var("vec"));
});
NAMES("mv", "Torch: mv; Tensor: mv; Aten: mv");
TRAITS("mv", .autocast = AutocastPolicy::lower, .complex = true, .multiply_adds = product_work);

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
TRAITS("inner", .complex = true);

OP("outer(Tensor input, Tensor vec2)",
   [](const Bound& args) -> Value { return outer(args.var("input"), args.var("vec2")); });
NAMES("outer", "Torch: outer ger; Tensor: outer ger; Mint: outer");
TRAITS("outer", .complex = true, .recorded_gradients = RecordedGradients::of_last_step);

OP("addmm(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)",
   [](const Bound& args) -> Value { return add_product(args, "mat1", "mat2", 2, 2); });
NAMES("addmm", "Torch: addmm; Tensor: addmm addmm_; Aten: addmm addmm_");
TRAITS("addmm", .autocast = AutocastPolicy::lower, .complex = true, .multiply_adds = added_product_work);

// With its factors also by position.
OP("saddmm(Tensor input, Tensor mat1, Tensor mat2, Scalar beta=1, Scalar alpha=1)",
   [](const Bound& args) -> Value { return add_product(args, "mat1", "mat2", 2, 2); });
NAMES("saddmm", "Torch: saddmm");
TRAITS("saddmm", .complex = true);

OP("addmv(Tensor input, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1)",
   [](const Bound& args) -> Value { return add_product(args, "mat", "vec", 2, 1); });
NAMES("addmv", "Torch: addmv addmv_; Tensor: addmv addmv_; Aten: addmv addmv_");
TRAITS("addmv", .autocast = AutocastPolicy::lower, .complex = true);

OP("baddbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)",
   [](const Bound& args) -> Value { return add_product(args, "batch1", "batch2", 3, 3); });
NAMES("baddbmm", "Torch: baddbmm; Tensor: baddbmm baddbmm_; Aten: baddbmm baddbmm_; Mint: baddbmm baddbmm_ex");
TRAITS("baddbmm", .autocast = AutocastPolicy::lower, .complex = true, .multiply_adds = added_product_work);

OP("addr(Tensor input, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1)", [](const Bound& args) -> Value {
  Raised raised;
  const Var c = raised(args.var("input"));
  const Var a = raised(args.var("vec1"));
  const Var b = raised(args.var("vec2"));
  if (c.dtype() == DType::boolean && a.dtype() == DType::boolean && b.dtype() == DType::boolean) {
    return logical_addr(c, outer(a, b), args.real("beta") != 0, args.real("alpha") != 0);
  }
  return raised.back(scaled_sum(c, outer(a, b), args.real("beta"), args.real("alpha")));
});
NAMES("addr", "Torch: addr; Tensor: addr addr_; Aten: addr");
TRAITS("addr", .autocast = AutocastPolicy::lower, .complex = true);

OP("addbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)",
   [](const Bound& args) -> Value {
     Raised raised;
     const Var c = raised(args.var("input"));
     const Var a = raised(args.var("batch1"));
     const Var b = raised(args.var("batch2"));
     need_rank(a, 3, "addbmm");
     need_rank(b, 3, "addbmm");
     // The sum over the batch is part of the contraction.
     return raised.back(scaled_sum(c, contract(a, b, Dims{0, 2}, Dims{0, 1}), args.real("beta"), args.real("alpha")));
   });
NAMES("addbmm", "Torch: addbmm; Tensor: addbmm addbmm_; Aten: addbmm addbmm_");
TRAITS("addbmm", .autocast = AutocastPolicy::lower, .complex = true, .multiply_adds = added_product_work);

OP("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None)", [](const Bound& args) -> Value {
  Raised raised;
  const Var x1 = raised(args.var("input1"));
  const Var x2 = raised(args.var("input2"));
  const Var weight = raised(args.var("weight"));
  const std::optional<Var> bias = raised(args.optional_var("bias"));
  return raised.back(bilinear(x1, x2, weight, bias));
});
NAMES("bilinear", "Functional: bilinear; Torch: bilinear");
TRAITS("bilinear", .recorded_gradients = RecordedGradients::of_last_step);

OP("chain_matmul(Tensor[]... matrices)", [](const Bound& args) -> Value { return multi_dot(args.vars("matrices")); });
NAMES("chain_matmul", "Torch: chain_matmul");
TRAITS("chain_matmul", .autocast = AutocastPolicy::lower, .complex = true);

OP("linalg_multi_dot(Tensor[]... tensors)", [](const Bound& args) -> Value { return multi_dot(args.vars("tensors")); });
NAMES("linalg_multi_dot", "Torch: linalg.multi_dot multi_dot");
TRAITS("linalg_multi_dot", .autocast = AutocastPolicy::lower, .complex = true);

OP("tensordot(Tensor a, Tensor b, any dims=2)",
   [](const Bound& args) -> Value { return tensordot(args.var("a"), args.var("b"), args.value("dims")); });
OP("tensordot(Tensor input, Tensor other, int[] dims_self, int[] dims_other)", [](const Bound& args) -> Value {
  return contract(args.var("input"), args.var("other"), args.ints("dims_self"), args.ints("dims_other"));
});
NAMES("tensordot", "Torch: tensordot");
TRAITS("tensordot", .complex = true, .recorded_gradients = RecordedGradients::of_last_step);

OP("kron(Tensor input, Tensor other)",
   [](const Bound& args) -> Value { return kron(args.var("input"), args.var("other")); });
NAMES("kron", "Torch: kron; Tensor: kron");
TRAITS("kron", .complex = true);

}  // namespace msrun
