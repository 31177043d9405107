// Linear algebra: operators on matrices in the last two axes (api_inventory.md section 3, linear algebra).
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/api/operators.h"
#include "kernels/error.h"
#include "kernels/ops/decompose.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/functions.h"
#include "kernels/ops/gemm.h"
#include "kernels/ops/layout.h"
#include "kernels/ops/reduce.h"
#include "kernels/ops/rows.h"

namespace msrun {
namespace {

Tensor transposed(const Tensor& a) { return a.transpose(-1, -2); }

Tensor times(const Tensor& a, const Tensor& b) { return product(a, b, a.dtype(), {}); }

Tensor negative(const Tensor& a) {
  return map(a.dtype(), a, [](auto x) { return -x; });
}

// Decompositions exist for float32 and float64; half inputs must have been raised.
void require_float(const Var& a, const char* who) {
  if (a.dtype() == DType::float32 || a.dtype() == DType::float64) return;
  throw SkipError(std::string(who) + " is not supported for " + std::string(name(a.dtype())) + ".");
}

// One value per matrix, spread over its elements.
Tensor per_matrix(const Tensor& values, const Tensor& matrices) {
  return values.unsqueeze(-1).unsqueeze(-1).expand(matrices.shape());
}

Tensor multiplied(const Tensor& a, const Tensor& b) {
  return map(a.dtype(), a, b, [](auto x, auto y) { return x * y; });
}

Tensor added(const Tensor& a, const Tensor& b) {
  return map(a.dtype(), a, b, [](auto x, auto y) { return x + y; });
}

Var inverse(const Var& a) {
  require_float(a, "inverse");
  const Tensor y = inverse(a.tensor());
  return a.tape().record(
      y, {{a, [y](const Tensor& g) { return negative(times(times(transposed(y), g), transposed(y))); }}});
}

// d det / d A: the cofactors, from the singular values, which also serves singular matrices.
Tensor cofactors(const Tensor& a) {
  const SingularValues svd = singular_values(a, true);
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
  const Tensor signs = multiplied(determinant(svd.u).sign, determinant(svd.v).sign);
  const Tensor scaled = multiplied(svd.u, products.unsqueeze(-2));
  const Tensor result = times(scaled, transposed(svd.v));
  return multiplied(result, per_matrix(signs, result));
}

Var det(const Var& a) {
  require_float(a, "det");
  const Tensor matrices = a.tensor();
  return a.tape().record(
      determinant(matrices).value,
      {{a, [matrices](const Tensor& g) { return multiplied(cofactors(matrices), per_matrix(g, matrices)); }}});
}

struct SignAndLogarithm {
  Tensor sign;
  Var logarithm;
};

SignAndLogarithm slogdet(const Var& a) {
  require_float(a, "slogdet");
  const Determinant result = determinant(a.tensor());
  const Var logarithm =
      a.tape().record(result.logarithm, {{a, [matrices = a.tensor()](const Tensor& g) {
                                            return multiplied(transposed(inverse(matrices)), per_matrix(g, matrices));
                                          }}});
  return {result.sign, logarithm};
}

// X with A X = B for B of the same batch axes as A.
Var solve_matrices(const Var& a, const Var& b) {
  require_float(a, "solve");
  const Tensor matrices = a.tensor();
  const Tensor x = solve(matrices, b.tensor().to(a.dtype()));
  return a.tape().record(x, {a, b}, [matrices, x](const Tensor& g) {
    const Tensor of_b = solve(transposed(matrices), g);
    return std::vector<Tensor>{negative(times(of_b, transposed(x))), of_b};
  });
}

Var batched(const Var& x, Dims batch) {
  for (auto axis = x.shape().end() - 2; axis != x.shape().end(); ++axis) batch.push_back(*axis);
  return batch == x.shape() ? x : expand(x, batch);
}

Dims batch_axes(const Var& x) { return {x.shape().begin(), x.shape().end() - 2}; }

// A X = B, or X A = B if not left. B may be a vector per matrix.
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

// Gradient of A: the symmetric part of L^-T P L^-1, where P is the lower triangle of L^T g with a halved diagonal.
Var cholesky(const Var& a, bool upper) {
  require_float(a, "cholesky");
  const Tensor l = cholesky(a.tensor());
  const Var lower = a.tape().record(
      l, {{a, [l](const Tensor& g) {
             const Tensor p = times(transposed(l), g);
             const Tensor below = triangle(p, -1, true);
             const Tensor on_or_below = triangle(p, 0, true);
             const Tensor phi = map(p.dtype(), below, on_or_below, [](auto x, auto y) { return (x + y) / 2; });
             const Tensor half = solve(transposed(l), phi);
             const Tensor full = transposed(solve(transposed(l), transposed(half)));
             return map(full.dtype(), full, transposed(full), [](auto x, auto y) { return (x + y) / 2; });
           }}});
  return upper ? transpose(lower, -1, -2) : lower;
}

struct Svd {
  Tensor u;
  Var s;  // differentiable; the signs of u and v are arbitrary
  Tensor v;
};

Svd svd(const Var& a, bool full) {
  require_float(a, "svd");
  const SingularValues thin = singular_values(a.tensor(), false);
  const Var s = a.tape().record(
      thin.s,
      {{a, [thin](const Tensor& g) { return times(multiplied(thin.u, g.unsqueeze(-2)), transposed(thin.v)); }}});
  if (!full) return {thin.u, s, thin.v};
  const SingularValues whole = singular_values(a.tensor(), true);
  return {whole.u, s, whole.v};
}

// Gradient for thin factors of a matrix with at least as many rows as columns: (gQ + Q sym(M)) R^-T with M = R gR^T -
// gQ^T Q, where sym mirrors the strictly lower triangle.
Tensor qr_gradient(const Orthogonal& factors, const Tensor& of_q, const Tensor& of_r) {
  if (factors.q.size(-2) < factors.r.size(-1) || factors.q.size(-1) != factors.r.size(-1)) {
    throw SkipError("The gradient of qr needs at least as many rows as columns and the reduced factors.");
  }
  const Tensor m = of_r.defined() ? times(factors.r, transposed(of_r)) : negative(times(transposed(of_q), factors.q));
  const Tensor mirrored = added(triangle(m, 0, true), transposed(triangle(m, -1, true)));
  Tensor total = times(factors.q, mirrored);
  if (of_q.defined()) total = added(total, of_q);
  return transposed(solve(factors.r, transposed(total)));
}

List qr_operator(const Var& input, bool full) {
  Raised raised;
  const Var a = raised(input);
  require_float(a, "qr");
  const Orthogonal factors = qr(a.tensor(), full);
  const Var q = a.tape().record(factors.q, {{a, [factors](const Tensor& g) { return qr_gradient(factors, g, {}); }}});
  const Var r = a.tape().record(factors.r, {{a, [factors](const Tensor& g) { return qr_gradient(factors, {}, g); }}});
  return {raised.back(q), raised.back(r)};
}

// Singular values up to rcond times the largest count as zero.
Var pseudo_inverse(const Var& a, double rcond) {
  require_float(a, "pinverse");
  const SingularValues svd = singular_values(a.tensor(), false);
  Tensor reciprocal = Tensor::zeros(svd.s.dtype(), svd.s.shape());
  visit_compute(svd.s.dtype(), [&](auto element) {
    using T = decltype(element);
    const std::int64_t count = svd.s.size(-1);
    for (std::int64_t i = 0; i < svd.s.numel(); ++i) {
      const T limit = static_cast<T>(rcond) * svd.s.data<T>()[i - i % count];
      const T s = svd.s.data<T>()[i];
      if (s > limit) reciprocal.mutable_data<T>()[i] = 1 / s;
    }
  });
  const Tensor y = times(multiplied(svd.v, reciprocal.unsqueeze(-2)), transposed(svd.u));
  return a.tape().record(y, {{a, [y, x = a.tensor()](const Tensor& g) {
                                const Tensor yt = transposed(y);
                                const Tensor gt = transposed(g);
                                // -Y^T g Y^T + (I - X Y) g^T Y Y^T + Y^T Y g^T (I - Y X)
                                const auto minus = [](const Tensor& p, const Tensor& q) {
                                  return map(p.dtype(), p, q, [](auto u, auto v) { return u - v; });
                                };
                                const Tensor right = times(gt, times(y, yt));
                                const Tensor left = times(times(yt, y), gt);
                                const Tensor first = minus(right, times(x, times(y, right)));
                                const Tensor second = minus(left, times(left, times(y, x)));
                                return minus(added(first, second), times(times(yt, g), yt));
                              }}});
}

Var identity_like(const Var& a) {
  const std::int64_t n = a.size(-1);
  const Tensor ones = Tensor::full(a.dtype(), Dims{n}, 1);
  return expand(a.tape().constant(diag_embed(ones, 0, 0, 1)), a.shape());
}

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
  return result ? *result : identity_like(a);
}

// Taylor series of the matrix scaled down by a power of two, squared as often.
Var matrix_exponential(const Var& a) {
  require_square(a.tensor(), "matrix_exp");
  require_float(a, "matrix_exp");
  if (a.numel() == 0) return a;
  const Tensor magnitude = map(DType::float64, a.tensor(), [](auto x) { return std::abs(x); });
  const Tensor row_sums = sum(magnitude, Dims{-1}, false);
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
      sum(a.tensor().with_strides(diagonal.shape, diagonal.strides, diagonal.offset), Dims{}, false, a.arithmetic());
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

// ord is a number or "fro", "nuc".
Var matrix_norm(const Var& input, const Value& ord, const Dims& dims, bool keepdim) {
  if (dims.size() != 2) throw SkipError("matrix_norm: dim must hold two dimensions.");
  const std::int64_t rows = normalize_axis(dims[0], input.rank());
  const std::int64_t columns = normalize_axis(dims[1], input.rank());
  if (rows == columns || input.rank() < 2) throw SkipError("matrix_norm: the two dimensions must differ.");
  Raised raised;
  const Var a = raised(input);
  const std::string* text = ord.get<std::string>();
  if (text != nullptr && *text == "fro") return raised.back(vector_norm(a, 2, Dims{rows, columns}, keepdim));
  double order = 0;
  if (const auto* integer = ord.get<std::int64_t>()) order = static_cast<double>(*integer);
  if (const auto* real = ord.get<double>()) order = *real;
  const bool nuclear = text != nullptr && *text == "nuc";
  const double magnitude = std::abs(order);
  if (!nuclear && (text != nullptr || (magnitude != 1 && magnitude != 2 && !std::isinf(order)))) {
    throw SkipError("matrix_norm: unknown ord.");
  }
  Var result;
  const double extremum = std::copysign(std::numeric_limits<double>::infinity(), order);
  if (nuclear || magnitude == 2) {
    Dims order_of_axes;
    for (std::int64_t axis = 0; axis < a.rank(); ++axis) {
      if (axis != rows && axis != columns) order_of_axes.push_back(axis);
    }
    order_of_axes.push_back(rows);
    order_of_axes.push_back(columns);
    const Var s = svd(permute(a, order_of_axes), false).s;
    result = nuclear ? sum(s, Dims{-1}, false) : vector_norm(s, extremum, Dims{-1}, false);
  } else {
    // Sums of magnitudes over one axis, then the extreme one.
    const std::int64_t summed = magnitude == 1 ? rows : columns;
    const std::int64_t other = magnitude == 1 ? columns : rows;
    const Var sums = sum(abs(a), Dims{summed}, true);
    result = vector_norm(sums, extremum, Dims{other}, true);
  }
  Dims shape = a.shape();
  shape[static_cast<std::size_t>(rows)] = 1;
  shape[static_cast<std::size_t>(columns)] = 1;
  if (!keepdim) {
    shape.erase(shape.begin() + std::max(rows, columns));
    shape.erase(shape.begin() + std::min(rows, columns));
  }
  return raised.back(reshape(result, shape));
}

Value raised_unary(const Bound& args, Var (*function)(const Var&)) {
  Raised raised;
  const Var a = raised(args.var("input"));
  return raised.back(function(a));
}

Var info_of(const Var& a) { return a.tape().constant(Tensor::zeros(DType::int32, batch_axes(a))); }

OP("inverse(Tensor input)", [](const Bound& args) { return raised_unary(args, inverse); });
NAMES("inverse", "Torch: inverse linalg.inv inv; Tensor: inverse; Aten: inverse; Mint: inverse");

OP("linalg_inv_ex(Tensor input, *, bool check_errors=False)", [](const Bound& args) -> Value {
  return List{raised_unary(args, inverse), info_of(args.var("input"))};
});
NAMES("linalg_inv_ex", "Torch: linalg.inv_ex; Aten: linalg_inv_ex");

OP("det(Tensor input)", [](const Bound& args) { return raised_unary(args, det); });
NAMES("det", "Torch: det linalg.det; Tensor: det");

OP("slogdet(Tensor input)", [](const Bound& args) -> Value {
  const SignAndLogarithm result = slogdet(args.var("input"));
  return List{args.tape().constant(result.sign), result.logarithm};
});
NAMES("slogdet", "Torch: slogdet linalg.slogdet; Tensor: slogdet");

OP("logdet(Tensor input)", [](const Bound& args) -> Value {
  const SignAndLogarithm result = slogdet(args.var("input"));
  // NaN for a negative determinant.
  const Tensor offset = map(result.sign.dtype(), result.sign, [](auto sign) {
    using T = decltype(sign);
    return sign < 0 ? std::numeric_limits<T>::quiet_NaN() : T{0};
  });
  return add(result.logarithm, args.tape().constant(offset));
});
NAMES("logdet", "Torch: logdet; Tensor: logdet");

OP("linalg_solve(Tensor A, Tensor B, *, bool left=True)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("A"));
  const Var b = raised(args.var("B"));
  return raised.back(linalg_solve(a, b, args.flag("left")));
});
NAMES("linalg_solve", "Torch: linalg.solve solve; Tensor: solve");

OP("cholesky(Tensor input, bool upper=False)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("input"));
  return raised.back(cholesky(a, args.flag("upper")));
});
NAMES("cholesky", "Torch: cholesky linalg.cholesky; Tensor: cholesky; Aten: cholesky");

OP("linalg_cholesky_ex(Tensor input, *, bool upper=False, bool check_errors=False)", [](const Bound& args) -> Value {
  return List{cholesky(args.var("input"), args.flag("upper")), info_of(args.var("input"))};
});
NAMES("linalg_cholesky_ex", "Torch: linalg.cholesky_ex; Aten: linalg_cholesky_ex");

OP("svd(Tensor input, bool some=True, bool compute_uv=True)", [](const Bound& args) -> Value {
  Raised raised;
  const Svd result = svd(raised(args.var("input")), !args.flag("some"));
  Tape& tape = args.tape();
  return List{raised.back(tape.constant(result.u)), raised.back(result.s), raised.back(tape.constant(result.v))};
});
NAMES("svd", "Torch: svd; Tensor: svd");

OP("linalg_svd(Tensor A, bool full_matrices=True, *, any driver=None)", [](const Bound& args) -> Value {
  Raised raised;
  const Svd result = svd(raised(args.var("A")), args.flag("full_matrices"));
  Tape& tape = args.tape();
  return List{raised.back(tape.constant(result.u)), raised.back(result.s),
              raised.back(tape.constant(transposed(result.v)))};
});
NAMES("linalg_svd", "Torch: linalg.svd");

OP("linalg_svdvals(Tensor A, *, any driver=None)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("A"));
  return raised.back(svd(a, false).s);
});
NAMES("linalg_svdvals", "Torch: linalg.svdvals svdvals");

OP("qr(Tensor input, bool some=True)",
   [](const Bound& args) -> Value { return qr_operator(args.var("input"), !args.flag("some")); });
OP("qr(Tensor input, str mode='reduced')", [](const Bound& args) -> Value {
  const std::string& mode = args.text("mode");
  if (mode != "reduced" && mode != "complete") throw SkipError("qr: mode '" + mode + "' is not supported.");
  return qr_operator(args.var("input"), mode == "complete");
});
NAMES("qr", "Torch: qr linalg.qr; Tensor: qr; Aten: qr linalg_qr");

OP("pinverse(Tensor input, float rcond=1e-15)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("input"));
  return raised.back(pseudo_inverse(a, args.real("rcond")));
});
NAMES("pinverse", "Torch: pinverse; Tensor: pinverse");

OP("linalg_pinv(Tensor A, float? rcond=None, bool hermitian=False, *, float? rtol=None)",
   [](const Bound& args) -> Value {
     Raised raised;
     const Var a = raised(args.var("A"));
     if (a.rank() < 2) throw SkipError("pinv: expected matrices.");
     const double epsilon = a.dtype() == DType::float64 ? 0x1p-52 : 0x1p-23;
     const double limit = static_cast<double>(std::max(a.size(-1), a.size(-2))) * epsilon;
     return raised.back(
         pseudo_inverse(a, args.optional_real("rcond").value_or(args.optional_real("rtol").value_or(limit))));
   });
NAMES("linalg_pinv", "Torch: linalg.pinv pinv");

OP("linalg_matrix_power(Tensor input, int n)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("input"));
  return raised.back(matrix_power(a, args.integer("n")));
});
NAMES("linalg_matrix_power", "Torch: matrix_power linalg.matrix_power; Tensor: matrix_power");

OP("matrix_exp(Tensor input)", [](const Bound& args) { return raised_unary(args, matrix_exponential); });
NAMES("matrix_exp", "Torch: matrix_exp linalg.matrix_exp; Tensor: matrix_exp; Aten: linalg_matrix_exp");

OP("trace(Tensor input)", [](const Bound& args) -> Value { return trace(args.var("input")); });
NAMES("trace", "Torch: trace; Tensor: trace; Aten: trace; Mint: trace");

OP("cross(Tensor input, Tensor other, int? dim=None)", [](const Bound& args) -> Value {
  const Var a = args.var("input");
  const std::optional<std::int64_t> axis = args.optional_integer("dim");
  return cross(a, args.var("other"), axis ? *axis : first_axis_of_three(a));
});
NAMES("cross", "Torch: cross; Tensor: cross; Aten: cross; Mint: cross");

OP("linalg_cross(Tensor input, Tensor other, *, int dim=-1)",
   [](const Bound& args) -> Value { return cross(args.var("input"), args.var("other"), args.integer("dim")); });
NAMES("linalg_cross", "Torch: linalg.cross; Aten: linalg_cross");

OP("linalg_matrix_norm(Tensor A, any ord='fro', int[] dim=(-2, -1), bool keepdim=False, *, dtype? dtype=None)",
   [](const Bound& args) -> Value {
     const std::optional<DType> dtype = args.optional_dtype("dtype");
     const Var a = dtype ? cast(args.var("A"), *dtype) : args.var("A");
     return matrix_norm(a, args.value("ord"), args.ints("dim"), args.flag("keepdim"));
   });
NAMES("linalg_matrix_norm", "Torch: linalg.matrix_norm matrix_norm");

OP("nuclear_norm(Tensor input, bool keepdim=False)", [](const Bound& args) -> Value {
  return matrix_norm(args.var("input"), std::string("nuc"), Dims{-2, -1}, args.flag("keepdim"));
});
OP("nuclear_norm(Tensor input, int[] dim, bool keepdim=False)", [](const Bound& args) -> Value {
  return matrix_norm(args.var("input"), std::string("nuc"), args.ints("dim"), args.flag("keepdim"));
});
NAMES("nuclear_norm", "Torch: nuclear_norm");

OP("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1)", [](const Bound& args) -> Value {
  Raised raised;
  const Var x = raised(args.var("x"));
  const Var y = raised(args.var("y"));
  return raised.back(sum(mul(x, y), Dims{args.integer("dim")}, false));
});
NAMES("linalg_vecdot", "Torch: linalg.vecdot vecdot");

}  // namespace
}  // namespace msrun
