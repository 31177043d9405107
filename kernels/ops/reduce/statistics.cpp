// Covariance, correlation, the trapezoidal rule and Vandermonde matrices.
#include <algorithm>
#include <optional>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/layout.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"

namespace msrun {
namespace {

// Integers become float32.
Var as_float(const Var& x, const char* who) {
  if (x.dtype() == DType::boolean || is_complex(x.dtype())) {
    throw SkipError(std::string(who) + " is not supported for " + std::string(name(x.dtype())) + ".");
  }
  return is_floating(x.dtype()) ? x : cast(x, DType::float32);
}

struct Weights {
  std::optional<Var> frequencies;  // how often an observation was made: integers
  std::optional<Var> reliability;
};

void check_weights(const Var& weights, std::int64_t observations) {
  if (weights.rank() > 1 || weights.numel() != observations) {
    throw SkipError("cov: weights of shape " + tuple_text(weights.shape()) + " do not fit " +
                    std::to_string(observations) + " observations.");
  }
}

// Rows are variables, columns observations; the result is a matrix.
Var covariance_matrix(const Var& x, double correction, const Weights& weights) {
  const std::int64_t observations = x.size(1);
  std::optional<Var> w;
  if (weights.frequencies) {
    if (is_floating(weights.frequencies->dtype())) throw SkipError("cov: fweights must be integers.");
    check_weights(*weights.frequencies, observations);
    w = cast(*weights.frequencies, x.dtype());
  }
  if (weights.reliability) {
    if (!is_floating(weights.reliability->dtype())) throw SkipError("cov: aweights must be floating.");
    check_weights(*weights.reliability, observations);
    w = w ? mul(*w, *weights.reliability) : *weights.reliability;
  }
  if (!w) {
    const Var centred = sub(x, mean(x, {1}, true));
    const double freedom = std::max(static_cast<double>(observations) - correction, 0.0);
    return div(matmul(centred, transpose(centred, 0, 1)), x.tape().number(freedom));
  }
  const Var row = reshape(*w, {1, observations});
  const Var total = sum(row, {}, false);
  const Var centred = sub(x, div(sum(mul(x, row), {1}, true), total));
  Var freedom = total;
  if (correction != 0) {
    Var lost = x.tape().number(correction);
    if (weights.reliability) {
      lost = mul(div(sum(mul(row, reshape(*weights.reliability, {1, observations})), {}, false), total), correction);
    }
    freedom = sub(total, lost);
  }
  return div(matmul(centred, transpose(mul(centred, row), 0, 1)), clamp(freedom, 0, std::nullopt));
}

// A number or a vector is one variable.
Var variables(const Var& x, const char* who) {
  if (x.rank() > 2) throw SkipError(std::string(who) + ": expected at most two dimensions.");
  if (x.rank() == 2) return x;
  return reshape(x, {1, x.numel()});
}

// torch removes all axes of size 1.
Var squeezed(const Var& c) { return c.size(0) == 1 ? reshape(c, {}) : c; }

Value covariance(const Bound& args) {
  Raised raised;
  const Var x = variables(as_float(raised(args.var("input")), "cov"), "cov");
  const Weights weights{args.optional_var("fweights"), raised(args.optional_var("aweights"))};
  return raised.back(squeezed(covariance_matrix(x, static_cast<double>(args.integer("correction")), weights)));
}

Value correlation(const Bound& args) {
  Raised raised;
  const Var x = variables(as_float(raised(args.var("input")), "corrcoef"), "corrcoef");
  const Var c = covariance_matrix(x, 1, {});
  const std::int64_t count = c.size(0);
  if (count == 1) {
    const Var only = reshape(c, {});
    return raised.back(div(only, only));
  }
  const Var deviation = sqrt(diagonal(c, 0, 0, 1));
  const Var scaled = div(div(c, reshape(deviation, {count, 1})), reshape(deviation, {1, count}));
  return raised.back(clamp(scaled, -1, 1));
}

// Areas between neighbouring points along an axis. x, where given, has the shape of y, or is a vector of coordinates
// along the axis.
Var trapezoids(const Bound& args, Raised& raised) {
  // Sums, differences and products of integers are integers, which wrap around; only the half of them is a float.
  const auto halved = [](const Var& v, double dx) {
    return mul(is_complex(v.dtype()) ? v : as_float(v, "trapezoid"), dx / 2);
  };
  const Var y = raised(args.var("y"));
  const std::int64_t axis = normalize_axis(args.integer("dim"), y.rank());
  if (y.rank() == 0 || y.size(axis) == 0) throw SkipError("trapezoid: y has no points along the dimension.");
  const auto neighbours = [](const Var& v, std::int64_t along) {
    const std::int64_t count = v.size(along) - 1;
    return std::pair{slice(v, along, 0, count), slice(v, along, 1, count)};
  };
  const auto [left, right] = neighbours(y, axis);
  const Var heights = add(left, right);
  if (!args.given("x")) return halved(heights, args.given("dx") ? args.real("dx") : 1);
  Var x = raised(args.var("x"));
  if (x.rank() == 1) {
    if (x.size(0) != y.size(axis)) throw SkipError("trapezoid: there must be one x per point of y.");
    Dims shape(static_cast<std::size_t>(y.rank()), 1);
    shape[static_cast<std::size_t>(axis)] = x.size(0);
    x = reshape(x, shape);
  } else if (x.rank() < y.rank()) {
    Dims shape = x.shape();
    while (static_cast<std::int64_t>(shape.size()) < y.rank()) shape.insert(shape.begin(), 1);
    x = reshape(x, shape);
  }
  const std::int64_t along = axis + x.rank() - y.rank();
  if (x.size(along) != y.size(axis)) throw SkipError("trapezoid: there must be one x per point of y.");
  const auto [before, after] = neighbours(x, along);
  return halved(mul(heights, sub(after, before)), 1);
}

// Between points of equal distances torch adds all of them up and takes half of the two ends off: of integers, whose
// sums wrap around, another number than that of the areas, and none at all where an end is infinite.
Var trapezoid_of_whole_sum(const Bound& args, const Var& y) {
  const std::int64_t axis = normalize_axis(args.integer("dim"), y.rank());
  const Var ends = as_float(add(select(y, axis, 0), select(y, axis, -1)), "trapezoid");
  const Var all = as_float(sum(y, Dims{axis}, false), "trapezoid");
  return mul(sub(all, mul(ends, 0.5)), args.given("dx") ? args.real("dx") : 1);
}

Value trapezoid(const Bound& args) {
  Raised raised;
  const Var y = args.var("y");
  const std::int64_t rank = y.rank();
  const bool takes_off = is_integer(y.dtype()) || (y.context().jitter_seed != 0 && is_floating(y.dtype()));
  if (!args.given("x") && takes_off && y.numel() > 0 && rank > 0)
    return raised.back(trapezoid_of_whole_sum(args, raised(y)));
  const Var areas = trapezoids(args, raised);
  const std::int64_t axis = normalize_axis(args.integer("dim"), rank) + areas.rank() - rank;
  return raised.back(sum(areas, Dims{axis}, false));
}

Value cumulative_trapezoid(const Bound& args) {
  Raised raised;
  const std::int64_t rank = args.var("y").rank();
  const Var areas = trapezoids(args, raised);
  return raised.back(cumsum(areas, normalize_axis(args.integer("dim"), rank) + areas.rank() - rank));
}

// x^0 ... x^(count - 1) along a new last axis.
Tensor powers(const Tensor& x, std::int64_t count, DType dtype) {
  Dims shape = x.shape();
  shape.push_back(count);
  require_bounded(shape);
  const auto fill = [&](auto element) {
    using T = decltype(element);
    const DType wide = std::is_integral_v<T> ? DType::int64 : compute_dtype(dtype);
    const Tensor source = x.to(wide).contiguous();
    Tensor result(wide, shape);
    T* target = result.mutable_data<T>();
    for (std::int64_t i = 0; i < source.numel(); ++i) {
      T power = 1;
      for (std::int64_t k = 0; k < count; ++k, power = wrapping_mul(power, source.data<T>()[i])) *target++ = power;
    }
    return result.to(dtype);
  };
  if (!is_floating(dtype)) return fill(std::int64_t{});
  return dtype == DType::float64 ? fill(double{}) : fill(float{});
}

Var vander(const Var& x, std::optional<std::int64_t> columns, bool increasing) {
  if (x.rank() == 0) return vander(reshape(x, {1}), columns, increasing);
  if (x.dtype() == DType::boolean || is_complex(x.dtype())) {
    throw SkipError("vander is not supported for " + std::string(name(x.dtype())) + ".");
  }
  const std::int64_t count = columns.value_or(x.size(-1));
  if (count < 0) throw SkipError("vander: N must be non-negative.");
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : DType::int64;
  const Tensor rising = powers(x.tensor(), count, dtype);
  const Var result = x.tape().record(
      rising, {{x, [source = x.tensor(), count, &context = x.context()](const Tensor& g) {
                  // Sum of k x^(k-1) g_k.
                  const DType wide = compute_dtype(g.dtype());
                  if (count < 2) return Tensor::zeros(wide, source.shape());
                  const Tensor slopes = powers(source.to(wide), count - 1, wide);
                  Tensor factors(wide, {count - 1});
                  visit_compute(wide, [&](auto element) {
                    using T = decltype(element);
                    for (std::int64_t k = 1; k < count; ++k) {
                      factors.mutable_data<T>()[k - 1] = static_cast<T>(k);
                    }
                  });
                  const Tensor parts = map(wide, slopes, factors, g.slice(-1, 1, count - 1),
                                           [](auto p, auto k, auto gradient) { return p * k * gradient; });
                  return sum(parts, Dims{-1}, false, context.with_sound_arithmetic());
                }}});
  return increasing ? result : flip(result, Dims{result.rank() - 1});
}

OP("cov(Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None)", covariance);
NAMES("cov", "Torch: cov; Tensor: cov; Aten: cov");

OP("corrcoef(Tensor input)", correlation);
NAMES("corrcoef", "Torch: corrcoef; Tensor: corrcoef; Aten: corrcoef");

OP("trapezoid(Tensor y, Tensor? x=None, *, Scalar? dx=None, int dim=-1)", trapezoid);
NAMES("trapezoid", "Torch: trapezoid trapz; Aten: trapezoid trapz");
TRAITS("trapezoid", .complex = true);

OP("cumulative_trapezoid(Tensor y, Tensor? x=None, *, Scalar? dx=None, int dim=-1)", cumulative_trapezoid);
NAMES("cumulative_trapezoid", "Torch: cumulative_trapezoid; Aten: cumulative_trapezoid");
TRAITS("cumulative_trapezoid", .complex = true);

OP("vander(Tensor x, int? N=None, bool increasing=False)", [](const Bound& args) -> Value {
  const Var x = args.var("x");
  if (x.rank() != 1) throw SkipError("vander: x must be a vector.");
  return vander(x, args.optional_integer("N"), args.flag("increasing"));
});
NAMES("vander", "Torch: vander");

OP("linalg_vander(Tensor x, *, int? N=None)",
   [](const Bound& args) -> Value { return vander(args.var("x"), args.optional_integer("N"), true); });
NAMES("linalg_vander", "Torch: linalg.vander");

}  // namespace
}  // namespace msrun
