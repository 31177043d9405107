// Products over several axes or several factors, all composed of matmul: tensordot, kron, bilinear and chains of
// matrices (api_inventory.md section 3, matmul).
#include <algorithm>
#include <string>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/requirements.h"

namespace msrun {

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

namespace {

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
  require_rank(weight, 3, "bilinear: the weight");
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
      require_rank(matrices_[i], 2, "A chain of matrix products");
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
TRAITS("tensordot", .autocast = AutocastPolicy::lower, .complex = true,
       .recorded_gradients = RecordedGradients::of_last_step);

OP("kron(Tensor input, Tensor other)",
   [](const Bound& args) -> Value { return kron(args.var("input"), args.var("other")); });
NAMES("kron", "Torch: kron; Tensor: kron");
TRY_FIRST("kron", Trial::of_sizes);
TRAITS("kron", .complex = true);

}  // namespace msrun
