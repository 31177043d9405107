// Linear algebra: operators on matrices in the last two axes (api_inventory.md section 3, linear algebra).
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/decompositions.h"
#include "kernels/numeric/layout.h"
#include "kernels/numeric/matrix_algebra.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/linalg/matrix_functions.h"

namespace msrun {

Dims batch_axes(const Var& x) {
  if (x.rank() < 2) throw SkipError("The input must have at least 2 dimensions.");
  return {x.shape().begin(), x.shape().end() - 2};
}

Var batched(const Var& x, Dims batch) {
  for (auto axis = x.shape().end() - 2; axis != x.shape().end(); ++axis) batch.push_back(*axis);
  return batch == x.shape() ? x : expand(x, batch);
}

void require_float(const Var& a, const char* who) {
  if (a.dtype() == DType::float32 || a.dtype() == DType::float64) return;
  throw SkipError(std::string(who) + " is not supported for " + std::string(name(a.dtype())) + ".");
}

Var inverse(const Var& a) {
  require_float(a, "inverse");
  const Tensor y = inverse(a.context(), a.tensor());
  return a.tape().record(y, {{a, [y, times = Times(a.context())](const Tensor& g) {
                                return negative(times(times(transposed(y), g), transposed(y)));
                              }}});
}

namespace {

// d det / d A: the cofactors, from the singular values, which also serves singular matrices.
Tensor cofactors(const EvaluationContext& context, const Tensor& a) {
  const SingularValues svd = singular_values(context, a, true);
  const std::int64_t n = a.size(-1);
  Tensor products(svd.s.dtype(), svd.s.shape());
  visit_compute(svd.s.dtype(), [&](auto element) {
    using T = decltype(element);
    for (std::int64_t at = 0; at < svd.s.numel(); at += n) {
      for (std::int64_t i = 0; i < n; ++i) {
        T total = 1;
        for (std::int64_t j = 0; j < n; ++j) total *= j == i ? T{1} : svd.s.data<T>()[at + j];
        products.mutable_data<T>()[at + i] = total;
      }
    }
  });
  const Tensor signs = multiplied(determinant(context, svd.u).sign, determinant(context, svd.v).sign);
  const Tensor scaled = multiplied(svd.u, products.unsqueeze(-2));
  const Tensor result = Times(context)(scaled, transposed(svd.v));
  return multiplied(result, per_matrix(signs, result));
}

// One per matrix: 0 if its determinant is nothing but rounding of float32, beside the product of the norms of its rows.
Tensor regular_matrices(const Tensor& matrices, const Tensor& determinants) {
  constexpr double rounding = 0x1p-20;
  const Tensor a = matrices.to(DType::float64).contiguous();
  const Tensor values = determinants.to(DType::float64).contiguous();
  Tensor regular = Tensor::full(DType::float64, determinants.shape(), 1);
  const std::int64_t n = a.size(-1);
  for (std::int64_t m = 0; m < values.numel(); ++m) {
    double product = 1;
    for (std::int64_t row = 0; row < n; ++row) {
      const double* x = a.data<double>() + (m * n + row) * n;
      product *= std::sqrt(row_sum<double>(n, {}, [x](std::int64_t i) { return x[i] * x[i]; }));
    }
    if (std::abs(values.data<double>()[m]) <= rounding * product) regular.mutable_data<double>()[m] = 0;
  }
  return regular;
}

Var det(const Var& a) {
  require_float(a, "det");
  const Tensor& matrices = a.tensor();
  const Tensor value = determinant(a.context(), matrices).value;
  return a.tape().record(
      value, {{a, [matrices, value, &context = a.context()](const Tensor& g) {
                 const Tensor slope = multiplied(cofactors(context, matrices), per_matrix(g, matrices));
                 // Frameworks divide the determinant by the matrix: 0 by a singular one leaves 0.
                 const Tensor regular = regular_matrices(matrices, value);
                 const double* data = regular.data<double>();
                 const bool is_singular = std::find(data, data + regular.numel(), 0.0) != data + regular.numel();
                 if (!is_singular || !context.gives_alternative()) return slope;
                 return multiplied(slope, per_matrix(regular.to(slope.dtype()), matrices));
               }}});
}

struct SignAndLogarithm {
  Tensor sign;
  Var logarithm;
};

SignAndLogarithm slogdet(const Var& a) {
  require_float(a, "slogdet");
  const Determinant result = determinant(a.context(), a.tensor());
  const Var logarithm = a.tape().record(
      result.logarithm, {{a, [matrices = a.tensor(), &context = a.context()](const Tensor& g) {
                            return multiplied(transposed(inverse(context, matrices)), per_matrix(g, matrices));
                          }}});
  return {result.sign, logarithm};
}

// X with A X = B for B of the same batch axes as A.
Var solve_matrices(const Var& a, const Var& b) {
  require_float(a, "solve");
  const Tensor& matrices = a.tensor();
  const Tensor x = solve(a.context(), matrices, b.tensor().to(a.dtype()));
  return a.tape().record(x, {a, b}, [matrices, x, &context = a.context()](const Tensor& g) {
    const Tensor of_b = solve(context, transposed(matrices), g);
    return std::vector<Tensor>{negative(Times(context)(of_b, transposed(x))), of_b};
  });
}

}  // namespace

Var linalg_solve(const Var& a, const Var& b, bool left) {
  require_square(a.tensor(), "solve");
  const Dims without_columns(a.shape().begin(), a.shape().end() - 1);
  const bool vector = b.rank() == 1 || (b.rank() + 1 == a.rank() && b.shape() == without_columns);
  const Var right = vector ? unsqueeze(b, -1) : left ? b : transpose(b, -1, -2);
  if (b.rank() == 0 || right.size(-2) != a.size(-1)) {
    throw SkipError("solve: B of shape " + tuple_text(b.shape()) + " does not fit A of shape " + tuple_text(a.shape()) +
                    ".");
  }
  const Var matrices = left || vector ? a : transpose(a, -1, -2);
  const Dims batch = broadcast_shapes(batch_axes(matrices), batch_axes(right));
  const Var x = solve_matrices(batched(matrices, batch), batched(right, batch));
  if (vector) return reshape(x, Dims(x.shape().begin(), x.shape().end() - 1));
  return left ? x : transpose(x, -1, -2);
}

namespace {

// Gradient of A: the symmetric part of L^-T P L^-1, where P is the lower triangle of L^T g with a halved diagonal.
Var cholesky(const Var& a, bool upper) {
  require_float(a, "cholesky");
  const Tensor l = cholesky(a.context(), a.tensor());
  const Var lower = a.tape().record(
      l, {{a, [l, &context = a.context()](const Tensor& g) {
             const Tensor p = Times(context)(transposed(l), g);
             const Tensor below = triangle(p, -1, true);
             const Tensor on_or_below = triangle(p, 0, true);
             const Tensor phi = map(p.dtype(), below, on_or_below, [](auto x, auto y) { return (x + y) / 2; });
             const Tensor half = solve(context, transposed(l), phi);
             const Tensor full = transposed(solve(context, transposed(l), transposed(half)));
             return map(full.dtype(), full, transposed(full), [](auto x, auto y) { return (x + y) / 2; });
           }}});
  return upper ? transpose(lower, -1, -2) : lower;
}

}  // namespace

Var identity_like(const Var& a) {
  const Tensor ones = Tensor::full(a.dtype(), a.shape(), 1);
  return a.tape().constant(triangle(triangle(ones, 0, true), 0, false));
}

namespace {

Var matrix_power(const Var& a, std::int64_t exponent) {
  require_square(a.tensor(), "matrix_power");
  Var base = exponent < 0 ? inverse(a) : a;
  std::optional<Var> result;
  // The magnitude, also of the smallest integer.
  for (auto n = exponent < 0 ? ~static_cast<std::uint64_t>(exponent) + 1 : static_cast<std::uint64_t>(exponent); n != 0;
       n >>= 1) {
    if ((n & 1) != 0) result = result ? matmul(*result, base) : base;
    if (n > 1) base = matmul(base, base);
  }
  if (result) return *result;
  // The identity depends on nothing: the gradient is zero.
  return a.tape().record(identity_like(a).tensor(),
                         {{a, [](const Tensor& g) { return Tensor::zeros(g.dtype(), g.shape()); }}});
}

// Taylor series of the matrix scaled down by a power of two, squared as often.
Var matrix_exponential(const Var& a) {
  require_square(a.tensor(), "matrix_exp");
  require_float(a, "matrix_exp");
  if (a.numel() == 0) return a;
  const Tensor magnitude = map(DType::float64, a.tensor(), [](auto x) { return std::abs(x); });
  const Tensor row_sums = sum(magnitude, Dims{-1}, false, a.context().with_sound_arithmetic());
  double norm = 0;
  for (std::int64_t i = 0; i < row_sums.numel(); ++i) norm = std::max(norm, row_sums.data<double>()[i]);
  if (!std::isfinite(norm) || norm > 0x1p60) throw SkipError("matrix_exp: the input is too large or not finite.");
  int squarings = 0;
  while (norm > 0.5) {
    norm /= 2;
    ++squarings;
  }
  const Var scaled = mul(a, std::ldexp(1.0, -squarings));
  // Horner's scheme; with a norm of 0.5 the term of degree 18 is below 1e-21.
  Var result = identity_like(a);
  for (int k = 18; k >= 1; --k) result = add(identity_like(a), mul(matmul(scaled, result), 1.0 / k));
  for (int i = 0; i < squarings; ++i) result = matmul(result, result);
  return result;
}

Var trace(const Var& a) {
  if (a.rank() != 2) throw SkipError("trace: expected a matrix.");
  const Placement diagonal = diagonal_placement(a.shape(), a.tensor().strides(), 0, 0, 1);
  Tensor result =
      sum(a.tensor().with_strides(diagonal.shape, diagonal.strides, diagonal.offset), Dims{}, false, a.context());
  return a.tape().record(result, {{a, [shape = a.shape()](const Tensor& g) {
                                     const Placement own = diagonal_placement(shape, row_major_strides(shape), 0, 0, 1);
                                     return embed(shape, own.strides, own.offset, g.expand(own.shape));
                                   }}});
}

Var cross(const Var& first, const Var& second, std::int64_t axis) {
  Raised raised;
  Var a = raised(first);
  Var b = raised(second);
  const Dims shape = broadcast_shapes(a.shape(), b.shape());
  a = a.shape() == shape ? a : expand(a, shape);
  b = b.shape() == shape ? b : expand(b, shape);
  if (a.rank() == 0 || a.size(axis) != 3) throw SkipError("cross: the dimension must have 3 elements.");
  std::vector<Var> parts;
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::int64_t j = (i + 1) % 3;
    const std::int64_t k = (i + 2) % 3;
    parts.push_back(sub(mul(select(a, axis, j), select(b, axis, k)), mul(select(a, axis, k), select(b, axis, j))));
  }
  return raised.back(stack(parts, normalize_axis(axis, a.rank())));
}

std::int64_t first_axis_of_three(const Var& a) {
  for (std::int64_t axis = 0; axis < a.rank(); ++axis) {
    if (a.size(axis) == 3) return axis;
  }
  throw SkipError("cross: no dimension of size 3 in the input.");
}

// torch.linalg.cross, which the newest dumps call Torch.cross as well, takes the last axis where a call names none.
void note_other_axis(const Var& a, std::int64_t axis) {
  Choices* noted = a.context().choices();
  if (noted == nullptr || axis == a.rank() - 1 || a.size(-1) != 3) return;
  noted->namesake =
      "Computed along the first axis of size 3, as torch.cross does; torch.linalg.cross, which a dump may "
      "call so too, takes the last.";
}

Value raised_unary(const Bound& args, const char* input, Var (*function)(const Var&)) {
  Raised raised;
  const Var a = raised(args.var(input));
  return raised.back(function(a));
}

Var info_of(const Var& a) { return a.tape().constant(Tensor::zeros(DType::int32, batch_axes(a))); }

Var tensorsolve(const Var& left, const Var& right, const Dims& dims) {
  Raised raised;
  Var a = raised(left);
  const Var b = raised(right);
  if (a.rank() == 0) throw SkipError("tensorsolve: A must have at least one dimension.");
  if (!dims.empty()) {
    if (a.rank() == 0) throw SkipError("tensorsolve: A needs at least one dimension.");
    Dims order;
    std::vector<bool> moved(static_cast<std::size_t>(a.rank()), false);
    for (const std::int64_t axis : dims) {
      const auto place = static_cast<std::size_t>(normalize_axis(axis, a.rank()));
      if (moved[place]) throw SkipError("tensorsolve: dimension " + std::to_string(axis) + " is named twice.");
      moved[place] = true;
    }
    for (std::int64_t axis = 0; axis < a.rank(); ++axis) {
      if (!moved[static_cast<std::size_t>(axis)]) order.push_back(axis);
    }
    for (const std::int64_t axis : dims) order.push_back(normalize_axis(axis, a.rank()));
    a = permute(a, order);
  }
  if (a.rank() < b.rank()) throw SkipError("tensorsolve: B has more dimensions than A.");
  const Dims result(a.shape().begin() + b.rank(), a.shape().end());
  const std::int64_t count = element_count(result);
  if (b.numel() != count || a.numel() != count * count) {
    throw SkipError("tensorsolve: A of shape " + tuple_text(a.shape()) + " is not square for B of shape " +
                    tuple_text(b.shape()) + ".");
  }
  const Var x = linalg_solve(reshape(a, {count, count}), reshape(b, {count}), true);
  return raised.back(reshape(x, result));
}

OP("inverse(Tensor A)", [](const Bound& args) { return raised_unary(args, "A", inverse); });
NAMES("inverse", "Torch: inverse linalg.inv inv; Tensor: inverse; Aten: inverse; Mint: inverse");

OP("linalg_inv_ex(Tensor A, *, bool check_errors=False)", [](const Bound& args) -> Value {
  return List{raised_unary(args, "A", inverse), info_of(args.var("A"))};
});
NAMES("linalg_inv_ex", "Torch: linalg.inv_ex inv_ex; Aten: linalg_inv_ex");

OP("det(Tensor A)", [](const Bound& args) { return raised_unary(args, "A", det); });
NAMES("det", "Torch: det linalg.det; Tensor: det");

OP("slogdet(Tensor A)", [](const Bound& args) -> Value {
  const SignAndLogarithm result = slogdet(args.var("A"));
  return List{args.tape().constant(result.sign), result.logarithm};
});
NAMES("slogdet", "Torch: slogdet linalg.slogdet; Tensor: slogdet");

// The kernels beneath det, slogdet and solve also return the factors of the transposed matrix, which is how a row-major
// matrix looks to LAPACK.
OP("_linalg_det(Tensor A)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("A"));
  const Var result = det(a);
  const LuFactors factors = lu_factors(transposed(a.tensor()), true);
  Tape& tape = args.tape();
  return List{raised.back(result), raised.back(tape.constant(factors.lu)), tape.constant(factors.pivots)};
});
NAMES("_linalg_det", "Aten: _linalg_det");

OP("_linalg_slogdet(Tensor A)", [](const Bound& args) -> Value {
  const Var a = args.var("A");
  const SignAndLogarithm result = slogdet(a);
  const LuFactors factors = lu_factors(transposed(a.tensor()), true);
  Tape& tape = args.tape();
  return List{tape.constant(result.sign), result.logarithm, tape.constant(factors.lu), tape.constant(factors.pivots)};
});
NAMES("_linalg_slogdet", "Aten: _linalg_slogdet");

OP("_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("A"));
  const Var b = raised(args.var("B"));
  const Var x = linalg_solve(a, b, args.flag("left"));
  const LuFactors factors = lu_factors(transposed(a.tensor()), true);
  Tape& tape = args.tape();
  return List{raised.back(x), raised.back(tape.constant(factors.lu)), tape.constant(factors.pivots),
              tape.constant(factors.info)};
});
NAMES("_linalg_solve_ex", "Aten: _linalg_solve_ex");

OP("logdet(Tensor input)", [](const Bound& args) -> Value {
  const SignAndLogarithm result = slogdet(args.var("input"));
  // A negative determinant has none: NaN, to which no gradient goes.
  const Tensor logarithm = map(result.sign.dtype(), result.sign, result.logarithm.tensor(), [](auto sign, auto value) {
    return sign < 0 ? std::numeric_limits<decltype(value)>::quiet_NaN() : value;
  });
  return args.tape().record(logarithm, {{result.logarithm, [sign = result.sign](const Tensor& g) {
                                           return map(g.dtype(), sign, g, [](auto s, auto gradient) {
                                             return s < 0 ? decltype(gradient){0} : gradient;
                                           });
                                         }}});
});
NAMES("logdet", "Torch: logdet; Tensor: logdet");

OP("linalg_solve(Tensor A, Tensor B, *, bool left=True)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("A"));
  const Var b = raised(args.var("B"));
  return raised.back(linalg_solve(a, b, args.flag("left")));
});
NAMES("linalg_solve", "Torch: linalg.solve solve; Tensor: solve");

OP("linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("A"));
  const Var b = raised(args.var("B"));
  return List{raised.back(linalg_solve(a, b, args.flag("left"))), info_of(a)};
});
NAMES("linalg_solve_ex", "Torch: linalg.solve_ex solve_ex");

// X with tensordot(A, X, X.ndim) = B; the axes in dims are moved to the end of A first.
OP("linalg_tensorsolve(Tensor input, Tensor other, int[]? dims=None)",
   [](const Bound& args) -> Value { return tensorsolve(args.var("input"), args.var("other"), args.ints("dims")); });
OP("linalg_tensorsolve(Tensor A, Tensor B, int[]? dims=None)",
   [](const Bound& args) -> Value { return tensorsolve(args.var("A"), args.var("B"), args.ints("dims")); });
NAMES("linalg_tensorsolve", "Torch: linalg.tensorsolve tensorsolve");

OP("cholesky(Tensor input, bool upper=False)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("input"));
  return raised.back(cholesky(a, args.flag("upper")));
});
NAMES("cholesky", "Torch: cholesky linalg.cholesky; Tensor: cholesky; Aten: cholesky");

OP("linalg_cholesky_ex(Tensor input, *, bool upper=False, bool check_errors=False)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("input"));
  return List{raised.back(cholesky(a, args.flag("upper"))), info_of(a)};
});
NAMES("linalg_cholesky_ex", "Torch: linalg.cholesky_ex cholesky_ex; Aten: linalg_cholesky_ex");

OP("linalg_matrix_power(Tensor input, int n)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("input"));
  return raised.back(matrix_power(a, args.integer("n")));
});
NAMES("linalg_matrix_power", "Torch: matrix_power linalg.matrix_power; Tensor: matrix_power");
TRAITS("linalg_matrix_power", .complex = true);

OP("matrix_exp(Tensor input)", [](const Bound& args) { return raised_unary(args, "input", matrix_exponential); });
NAMES("matrix_exp", "Torch: matrix_exp linalg.matrix_exp; Tensor: matrix_exp; Aten: linalg_matrix_exp");

OP("trace(Tensor input)", [](const Bound& args) -> Value { return trace(args.var("input")); });
NAMES("trace", "Torch: trace; Tensor: trace; Aten: trace; Mint: trace");
TRAITS("trace", .complex = true);

OP("cross(Tensor input, Tensor other, int? dim=None)", [](const Bound& args) -> Value {
  const Var a = args.var("input");
  if (const std::optional<std::int64_t> named = args.optional_integer("dim"))
    return cross(a, args.var("other"), *named);
  const std::int64_t axis = first_axis_of_three(a);
  note_other_axis(a, axis);
  return cross(a, args.var("other"), axis);
});
NAMES("cross", "Torch: cross; Tensor: cross; Aten: cross; Mint: cross");
TRAITS("cross", .complex = true, .half_sums = HalfSums::results);

OP("linalg_cross(Tensor input, Tensor other, *, int dim=-1)",
   [](const Bound& args) -> Value { return cross(args.var("input"), args.var("other"), args.integer("dim")); });
NAMES("linalg_cross", "Torch: linalg.cross; Aten: linalg_cross");
TRAITS("linalg_cross", .complex = true, .half_sums = HalfSums::results);

OP("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1)", [](const Bound& args) -> Value {
  Raised raised;
  const Var x = raised(args.var("x"));
  const Var y = raised(args.var("y"));
  return raised.back(sum(mul(conjugate(x), y), Dims{args.integer("dim")}, false));
});
NAMES("linalg_vecdot", "Torch: linalg.vecdot vecdot");
TRAITS("linalg_vecdot", .complex = true);

}  // namespace
}  // namespace msrun
