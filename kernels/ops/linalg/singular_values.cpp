// The singular value decomposition and what is defined by it: pseudo-inverse, least squares, rank, condition and norms.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_extrema.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/decompositions.h"
#include "kernels/numeric/layout.h"
#include "kernels/numeric/matrix_algebra.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/norm_orders.h"
#include "kernels/ops/linalg/matrix_functions.h"

namespace msrun {

Svd svd(const Var& a, bool full) {
  require_float(a, "svd");
  const SingularValues thin = singular_values(a.context(), a.tensor(), false);
  const SingularValues whole = full ? singular_values(a.context(), a.tensor(), true) : thin;
  const std::int64_t count = thin.s.size(-1);
  const Times times(a.context());
  // (X - X^T) / (s_j^2 - s_i^2) for X = basis^T g: how a basis turns.
  const auto turned = [thin, times](const Tensor& basis, const Tensor& g) {
    const Tensor x = times(transposed(basis), g);
    const Tensor skew = subtracted(x, transposed(x));
    const Tensor gaps = map(thin.s.dtype(), thin.s.unsqueeze(-2), thin.s.unsqueeze(-1),
                            [](auto own, auto other) { return (own - other) * (own + other); });
    // On the diagonal both are 0.
    return map(skew.dtype(), skew, gaps, [](auto n, auto gap) { return n == 0 && gap == 0 ? n : n / gap; });
  };
  const auto outside = [times](const Tensor& basis, const Tensor& g) {
    return subtracted(g, times(basis, times(transposed(basis), g)));
  };
  const auto divided = [thin](const Tensor& columns) {
    return map(columns.dtype(), columns, thin.s.unsqueeze(-2), [](auto x, auto s) { return x / s; });
  };
  // The further columns of full factors are free: their gradient does not count.
  const Var u = a.tape().record(whole.u, {{a, [=](const Tensor& gradient) {
                                             const Tensor g = gradient.slice(-1, 0, count);
                                             Tensor columns =
                                                 times(thin.u, multiplied(turned(thin.u, g), thin.s.unsqueeze(-2)));
                                             if (thin.u.size(-2) > count) {
                                               columns = added(columns, divided(outside(thin.u, g)));
                                             }
                                             return times(columns, transposed(thin.v));
                                           }}});
  const Var s = a.tape().record(
      thin.s,
      {{a, [thin, times](const Tensor& g) { return times(multiplied(thin.u, g.unsqueeze(-2)), transposed(thin.v)); }}});
  const Var v = a.tape().record(whole.v, {{a, [=](const Tensor& gradient) {
                                             const Tensor g = gradient.slice(-1, 0, count);
                                             Tensor rows = times(multiplied(turned(thin.v, g), thin.s.unsqueeze(-1)),
                                                                 transposed(thin.v));
                                             if (thin.v.size(-2) > count) {
                                               rows = added(rows, transposed(divided(outside(thin.v, g))));
                                             }
                                             return times(thin.u, rows);
                                           }}});
  return {u, s, v};
}

// -Y^T g Y^T + (I - X Y) g^T Y Y^T + Y^T Y g^T (I - Y X), transposed where Y is.
Tensor pseudo_inverse_gradient(const EvaluationContext& context, const Tensor& a, const Tensor& y,
                               const Tensor& gradient) {
  const Times times(context);
  const Tensor yt = transposed(y);
  const Tensor gt = transposed(gradient);
  const Tensor right = times(gt, times(y, yt));
  const Tensor left = times(times(yt, y), gt);
  const Tensor first = subtracted(right, times(a, times(y, right)));
  const Tensor second = subtracted(left, times(left, times(y, a)));
  return subtracted(added(first, second), times(times(yt, gradient), yt));
}

namespace {

// What a singular value must exceed to count: one per matrix, computed from the largest one.
struct Tolerance {
  std::optional<Tensor> absolute;
  std::optional<Tensor> relative;
};

// The relative tolerance of a call that gives none follows the dtype that its matrices were recorded in.
double default_relative(const Var& a) {
  const DType recorded = a.context().recorded_dtype(a.dtype());
  const double precision = epsilon(is_half(recorded) ? DType::float32 : recorded);
  return static_cast<double>(std::max(a.size(-1), a.size(-2))) * precision;
}

// float64, the batch shape of the matrices.
Tensor limits(const Var& a, const Tensor& values, const Tolerance& tolerance) {
  const Dims batch(values.shape().begin(), values.shape().end() - 1);
  const auto spread = [&](const Tensor& given) {
    if (is_complex(given.dtype())) throw SkipError("A tolerance must be real.");
    if (!(broadcast_shapes(given.shape(), batch) == batch)) {
      throw SkipError("A tolerance of shape " + tuple_text(given.shape()) + " does not fit the matrices.");
    }
    return given.to(DType::float64).expand(batch);
  };
  const Tensor zero = Tensor::zeros(DType::float64, batch);
  const Tensor absolute = tolerance.absolute ? spread(*tolerance.absolute) : zero;
  // A positive absolute tolerance alone leaves no relative one.
  const double usual = default_relative(a);
  const Tensor relative =
      tolerance.relative ? spread(*tolerance.relative) : map(DType::float64, absolute, [usual](auto limit) {
        return limit > 0 ? decltype(limit){0} : static_cast<decltype(limit)>(usual);
      });
  if (values.size(-1) == 0) return absolute;
  const Tensor largest = values.to(DType::float64).select(values.rank() - 1, 0);
  return map(DType::float64, absolute, relative, largest,
             [](auto limit, auto factor, auto s) { return std::max(limit, factor * s); });
}

// The matrix of which only the lower triangle was given.
Tensor symmetric(const Tensor& a) {
  require_square(a, "hermitian");
  return added(triangle(a, 0, true), transposed(triangle(a, -1, true)));
}

// float64.
struct PseudoInverse {
  Tensor matrix;
  Tensor rank;  // int64
  Tensor values;
};
// matrices are those of a, or what they stand for.
PseudoInverse pseudo_inverse(const Var& a, const Tensor& matrices, const Tolerance& tolerance) {
  const SingularValues svd = singular_values(a.context(), matrices.to(DType::float64), false);
  const Tensor limit = limits(a, svd.s, tolerance).unsqueeze(-1);
  const Tensor counted =
      map(DType::float64, svd.s, limit, [](auto s, auto least) { return static_cast<decltype(s)>(s > least ? 1 : 0); });
  const Tensor reciprocal =
      map(DType::float64, svd.s, counted, [](auto s, auto counts) { return counts == 0 ? counts : 1 / s; });
  return {Times(a.context())(multiplied(svd.v, reciprocal.unsqueeze(-2)), transposed(svd.u)),
          sum(counted, Dims{-1}, false, a.context().with_sound_arithmetic()).to(DType::int64), svd.s};
}

Var pseudo_inverse(const Var& a, const Tolerance& tolerance, bool hermitian) {
  require_float(a, "pinverse");
  batch_axes(a);
  const Tensor& x = a.tensor();
  const Tensor y = pseudo_inverse(a, hermitian ? symmetric(x) : x, tolerance).matrix.to(a.dtype());
  // The gradient takes the matrix as it was given, also where only one triangle was read.
  return a.tape().record(
      y, {{a, [x, y, &context = a.context()](const Tensor& g) { return pseudo_inverse_gradient(context, x, y, g); }}});
}

// X that minimises |A X - B|, the shortest one where there are several. Same batch axes.
Var least_squares(const Var& a, const Var& b, const PseudoInverse& inverse) {
  const Times times(a.context());
  const Tensor matrices = a.tensor().to(DType::float64);
  const Tensor right = b.tensor().to(DType::float64);
  return a.tape().record(times(inverse.matrix, right).to(a.dtype()), {a, b},
                         [=, &context = a.context()](const Tensor& gradient) {
                           const Tensor g = gradient.to(DType::float64);
                           return std::vector<Tensor>{
                               pseudo_inverse_gradient(context, matrices, inverse.matrix, times(g, transposed(right))),
                               times(transposed(inverse.matrix), g)};
                         });
}

// (solution, residuals, rank, singular values); what the LAPACK driver does not compute is an empty tensor.
List lstsq(const Var& input_a, const Var& input_b, const Value& rcond, const Value& driver) {
  Raised raised;
  const Var a = raised(input_a);
  const Var b = raised(input_b);
  require_float(a, "lstsq");
  batch_axes(a);
  const std::string* given = driver.get<std::string>();
  const std::string name = given != nullptr ? *given : "gelsy";
  if (name != "gels" && name != "gelsy" && name != "gelsd" && name != "gelss") {
    throw SkipError("lstsq: unknown driver '" + name + "'.");
  }
  const bool vector =
      b.rank() + 1 == a.rank() && (b.rank() == 1 || b.shape() == Dims(a.shape().begin(), a.shape().end() - 1));
  const Var right = vector ? unsqueeze(b, -1) : b;
  if (right.rank() < 2 || right.size(-2) != a.size(-2)) {
    throw SkipError("lstsq: B of shape " + tuple_text(b.shape()) + " does not fit A of shape " + tuple_text(a.shape()) +
                    ".");
  }
  const Dims batch = broadcast_shapes(batch_axes(a), batch_axes(right));
  const Var matrices = batched(a, batch);
  const Var targets = batched(right, batch);
  Tolerance tolerance;
  if (const double* real = rcond.get<double>()) tolerance.relative = Tensor::scalar(DType::float64, *real);
  if (const auto* integer = rcond.get<std::int64_t>()) {
    tolerance.relative = Tensor::scalar(DType::float64, static_cast<double>(*integer));
  }
  const PseudoInverse inverse = pseudo_inverse(matrices, matrices.tensor(), tolerance);
  const Var x = least_squares(matrices, targets, inverse);
  const std::int64_t columns = a.size(-1);
  bool full_rank = true;
  for (std::int64_t i = 0; i < inverse.rank.numel(); ++i) full_rank = full_rank && inverse.rank.int_item(i) == columns;
  Tensor residuals(a.dtype(), {0});
  if (name != "gelsy" && a.size(-2) > columns && full_rank) {
    const Tensor difference =
        subtracted(Times(a.context())(matrices.tensor().to(DType::float64), x.tensor().to(DType::float64)),
                   targets.tensor().to(DType::float64));
    residuals =
        sum(multiplied(difference, difference), Dims{-2}, false, a.context().with_sound_arithmetic()).to(a.dtype());
  }
  const bool knows_values = name == "gelsd" || name == "gelss";
  Tape& tape = a.tape();
  return {raised.back(vector ? squeeze(x, -1) : x), raised.back(tape.constant(residuals)),
          tape.constant(name == "gels" ? Tensor(DType::int64, {0}) : inverse.rank),
          raised.back(tape.constant(knows_values ? inverse.values.to(a.dtype()) : Tensor(a.dtype(), {0})))};
}

// A tolerance given as a number or a tensor.
std::optional<Tensor> optional_tensor(const Bound& args, const char* name) {
  const std::optional<Var> given = args.optional_var(name);
  return given ? std::optional(given->tensor()) : std::nullopt;
}

Value matrix_rank(const Var& input, const Tolerance& tolerance, bool hermitian) {
  Raised raised;
  const Var a = raised(input);
  require_float(a, "matrix_rank");
  batch_axes(a);
  return a.tape().constant(pseudo_inverse(a, hermitian ? symmetric(a.tensor()) : a.tensor(), tolerance).rank);
}

// An absolute tolerance alone.
Tolerance only_absolute(const std::optional<Tensor>& limit) {
  if (!limit) return {};
  return {limit, Tensor::scalar(DType::float64, 0)};
}

}  // namespace

namespace {

// Along the last axis; equal values share the gradient, zeros too.
Var extreme_value(const Var& s, Extremum which) {
  const Dims axes{-1};
  const Tensor y = extremum(which, s.tensor(), axes, false);
  return s.tape().record(y, {{s, [t = s.tensor(), y, axes, &context = s.context()](const Tensor& g) {
                                return share_over_ties(context, t, y, g, axes);
                              }}});
}

}  // namespace

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
    result = nuclear ? sum(s, Dims{-1}, false) : extreme_value(s, order > 0 ? Extremum::maximum : Extremum::minimum);
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

namespace {

// ord None is 2. Norms other than 2 and -2 need the inverse; a singular matrix has an infinite condition.
Var condition(const Var& input, const Value& ord) {
  Raised raised;
  const Var a = raised(input);
  require_float(a, "cond");
  batch_axes(a);
  if (a.numel() == 0) throw SkipError("cond: the input has no elements.");
  double order = ord.is_none() ? 2 : 0;
  if (const auto* integer = ord.get<std::int64_t>()) order = static_cast<double>(*integer);
  if (const auto* real = ord.get<double>()) order = *real;
  if (std::abs(order) == 2) {
    const Var s = svd(a, false).s;
    const Var largest = select(s, -1, 0);
    const Var smallest = select(s, -1, s.size(-1) - 1);
    return raised.back(order > 0 ? div(largest, smallest) : div(smallest, largest));
  }
  require_square(a.tensor(), "cond");
  const Tensor info = lu_factors(a.tensor(), true).info;
  const Tensor singular = map_as(Compute::int64, DType::boolean, info, [](auto i) { return decltype(i)(i != 0); });
  const Var which = a.tape().constant(singular);
  const Var regular = where(a.tape().constant(per_matrix(singular, a.tensor())), identity_like(a), a);
  const Dims axes{-2, -1};
  const Var product = mul(matrix_norm(regular, ord, axes, false), matrix_norm(inverse(regular), ord, axes, false));
  const Var infinite =
      a.tape().constant(Tensor::full(a.dtype(), product.shape(), std::numeric_limits<double>::infinity()));
  return raised.back(where(which, infinite, product));
}

Var adjoint(const Var& a) { return transpose(a, -1, -2); }

// Without the vectors U and V are zeros of square shape.
OP("svd(Tensor input, bool some=True, bool compute_uv=True)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("input"));
  const Svd result = svd(a, args.flag("compute_uv") && !args.flag("some"));
  if (args.flag("compute_uv")) return List{raised.back(result.u), raised.back(result.s), raised.back(result.v)};
  const auto zeros = [&](std::int64_t size) {
    Dims shape = batch_axes(a);
    shape.push_back(size);
    shape.push_back(size);
    return raised.back(args.tape().constant(Tensor::zeros(a.dtype(), shape)));
  };
  return List{zeros(a.size(-2)), raised.back(result.s), zeros(a.size(-1))};
});
// linalg.svd, which the dumper calls by the same name.
OP("svd(Tensor A, *, bool full_matrices=True, any driver=None)", [](const Bound& args) -> Value {
  Raised raised;
  const Svd result = svd(raised(args.var("A")), args.flag("full_matrices"));
  return List{raised.back(result.u), raised.back(result.s), raised.back(adjoint(result.v))};
});
NAMES("svd", "Torch: svd; Tensor: svd; Aten: svd");
TRAITS("svd", .freedom = Freedom::singular);

OP("linalg_svd(Tensor A, bool full_matrices=True, *, any driver=None)", [](const Bound& args) -> Value {
  Raised raised;
  const Svd result = svd(raised(args.var("A")), args.flag("full_matrices"));
  return List{raised.back(result.u), raised.back(result.s), raised.back(adjoint(result.v))};
});
NAMES("linalg_svd", "Torch: linalg.svd; Aten: linalg_svd");
TRAITS("linalg_svd", .freedom = Freedom::singular_rows);

OP("_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, any driver=None)",
   [](const Bound& args) -> Value {
     Raised raised;
     const Var a = raised(args.var("A"));
     const bool vectors = args.flag("compute_uv");
     const Svd result = svd(a, vectors && args.flag("full_matrices"));
     if (vectors) return List{raised.back(result.u), raised.back(result.s), raised.back(adjoint(result.v))};
     const Var nothing = raised.back(args.tape().constant(Tensor(a.dtype(), {0})));
     return List{nothing, raised.back(result.s), nothing};
   });
NAMES("_linalg_svd", "Aten: _linalg_svd");
TRAITS("_linalg_svd", .freedom = Freedom::singular_rows);

OP("linalg_svdvals(Tensor A, *, any driver=None)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("A"));
  return raised.back(svd(a, false).s);
});
NAMES("linalg_svdvals", "Torch: linalg.svdvals svdvals");

OP("pinverse(Tensor input, float rcond=1e-15)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("input"));
  const Tolerance tolerance{std::nullopt, Tensor::scalar(DType::float64, args.real("rcond"))};
  return raised.back(pseudo_inverse(a, tolerance, false));
});
NAMES("pinverse", "Torch: pinverse; Tensor: pinverse; Aten: pinverse");

OP("linalg_pinv(Tensor A, Operand? rcond=None, bool hermitian=False, *, Operand? atol=None, Operand? rtol=None)",
   [](const Bound& args) -> Value {
     Raised raised;
     const Var a = raised(args.var("A"));
     Tolerance tolerance{optional_tensor(args, "atol"), optional_tensor(args, "rtol")};
     if (args.given("rcond")) tolerance = {std::nullopt, optional_tensor(args, "rcond")};
     return raised.back(pseudo_inverse(a, tolerance, args.flag("hermitian")));
   });
NAMES("linalg_pinv", "Torch: linalg.pinv pinv");

// torch.matrix_rank, which is no longer part of torch, calls `hermitian` symmetric.
OP("matrix_rank(Tensor A, Operand? tol=None, bool hermitian=False, *, Operand? atol=None, Operand? rtol=None)",
   [](const Bound& args) -> Value {
     const Tolerance given{optional_tensor(args, "atol"), optional_tensor(args, "rtol")};
     const Tolerance tolerance = args.given("tol") ? only_absolute(optional_tensor(args, "tol")) : given;
     return matrix_rank(args.var("A"), tolerance, args.flag("hermitian"));
   });
OP("matrix_rank(Tensor A, Operand? tol=None, bool symmetric=False)", [](const Bound& args) -> Value {
  return matrix_rank(args.var("A"), only_absolute(optional_tensor(args, "tol")), args.flag("symmetric"));
});
NAMES("matrix_rank", "Torch: matrix_rank linalg.matrix_rank");

OP("linalg_cond(Tensor A, any p=None)",
   [](const Bound& args) -> Value { return condition(args.var("A"), args.value("p")); });
NAMES("linalg_cond", "Torch: linalg.cond cond");
TRAITS("linalg_cond", .ranks_all_in = asks_for_extreme_norm<1, true>);

OP("lstsq(Tensor input, Tensor b, any rcond=None, *, str? driver=None)", [](const Bound& args) -> Value {
  return lstsq(args.var("input"), args.var("b"), args.value("rcond"), args.value("driver"));
});
OP("lstsq(Tensor A, Tensor B, any rcond=None, *, str? driver=None)", [](const Bound& args) -> Value {
  return lstsq(args.var("A"), args.var("B"), args.value("rcond"), args.value("driver"));
});
// torch.lstsq, which is no longer part of torch and had the right side first: known by the names of its arguments.
OP("lstsq(Tensor input, *, Tensor A)",
   [](const Bound& args) -> Value { return packed_lstsq(args.var("input"), args.var("A")); });
NAMES("lstsq", "Torch: lstsq linalg.lstsq");

OP("tensor_lstsq(Tensor input, Tensor other)",
   [](const Bound& args) -> Value { return packed_lstsq(args.var("input"), args.var("other")); });
NAMES("tensor_lstsq", "Tensor: lstsq");

OP("linalg_matrix_norm(Tensor A, any ord='fro', int[] dim=(-2, -1), bool keepdim=False, *, dtype? dtype=None)",
   [](const Bound& args) -> Value {
     const std::optional<DType> dtype = args.optional_dtype("dtype");
     const Var a = dtype ? computed_in(args.var("A"), *dtype) : args.var("A");
     return matrix_norm(a, args.value("ord"), args.ints("dim"), args.flag("keepdim"));
   });
NAMES("linalg_matrix_norm", "Torch: linalg.matrix_norm matrix_norm");
TRAITS("linalg_matrix_norm", .ranks_all_in = asks_for_extreme_norm<1, true>);

OP("nuclear_norm(Tensor input, bool keepdim=False)", [](const Bound& args) -> Value {
  return matrix_norm(args.var("input"), std::string("nuc"), Dims{-2, -1}, args.flag("keepdim"));
});
OP("nuclear_norm(Tensor input, int[] dim, bool keepdim=False)", [](const Bound& args) -> Value {
  return matrix_norm(args.var("input"), std::string("nuc"), args.ints("dim"), args.flag("keepdim"));
});
NAMES("nuclear_norm", "Torch: nuclear_norm");

}  // namespace
}  // namespace msrun
