// Reductions to sums, moments and norms, and counts: the differentiable functions and the operators made of them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/complex_numbers.h"
#include "kernels/numeric/exponential.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/linalg/matrix_functions.h"
#include "kernels/tensor/complex.h"

namespace msrun {
namespace {

void require_floating(const Var& x, const char* what) {
  if (!is_floating(x.dtype())) throw SkipError(std::string(what) + " needs a floating point tensor.");
}

Tensor as_dtype_of(const Var& x, const Tensor& result) { return result.to(x.dtype()); }

}  // namespace

Var sum(const Var& x, const Dims& axes, bool keepdim) {
  return x.tape().record(sum(x.tensor(), axes, keepdim, x.arithmetic()),
                         {{x, [shape = x.shape(), axes](const Tensor& g) { return expand_reduced(g, shape, axes); }}});
}

Var mean(const Var& x, const Dims& axes, bool keepdim) {
  if (!is_complex(x.dtype())) require_floating(x, "mean");
  const auto count = static_cast<double>(reduced_count(x.shape(), axes));
  const auto divide = complex_too([count](auto value) { return quotient(value, static_cast<decltype(value)>(count)); });
  const Tensor total = sum_unrounded(x.tensor(), axes, keepdim, x.arithmetic());
  return x.tape().record(as_dtype_of(x, map(total.dtype(), total, divide)),
                         {{x, [shape = x.shape(), axes, divide](const Tensor& g) {
                             return expand_reduced(map(g.dtype(), g, divide), shape, axes);
                           }}});
}

Var logsumexp(const Var& x_in, const Dims& axes, bool keepdim) {
  const Var x = is_floating(x_in.dtype()) ? x_in : cast(x_in, DType::float32);
  const DType wide = wide_dtype(x.dtype());
  if (reduced_count(x.shape(), axes) == 0) {
    return x.tape().record(
        Tensor::full(x.dtype(), reduced_shape(x.shape(), axes, keepdim), -std::numeric_limits<double>::infinity()),
        {{x, [shape = x.shape(), dtype = x.dtype()](const Tensor&) { return Tensor::zeros(dtype, shape); }}});
  }
  // Infinite maxima are not subtracted: inf - inf would hide the answer.
  const Tensor shift = map(wide, extremum(Extremum::maximum, x.tensor(), axes, true),
                           [](auto m) { return std::isinf(m) ? decltype(m){0} : m; });
  const Tensor total = sum_unrounded(map(wide, x.tensor(), shift, [](auto v, auto m) { return exponential(v - m); }),
                                     axes, true, x.arithmetic());
  const Tensor y = map(wide, total, shift, [](auto s, auto m) { return std::log(s) + m; });
  return x.tape().record(
      as_dtype_of(x, y).reshape(reduced_shape(x.shape(), axes, keepdim)),
      {{x, [t = x.tensor(), y, axes](const Tensor& g) {
          return map(t.dtype(), t, y, expand_reduced(g, t.shape(), axes), [](auto v, auto s, auto gradient) {
            using T = decltype(v);
            return s == -std::numeric_limits<T>::infinity() ? T{0} : gradient * exponential(v - s);
          });
        }}});
}

Var vector_norm(const Var& x, double p, const Dims& axes, bool keepdim) {
  if (is_complex(x.dtype())) {
    // Of the magnitudes, in double.
    return cast(vector_norm(magnitude(cast(x, DType::complex128)), p, axes, keepdim), part_dtype(x.dtype()));
  }
  require_floating(x, "norm");
  const DType wide = wide_dtype(x.dtype());
  const Tensor t = x.tensor();
  const Dims shape = reduced_shape(x.shape(), axes, keepdim);
  const auto sum_of = [&](auto f) { return sum_unrounded(map(wide, t, f), axes, true, x.arithmetic()); };
  const auto record = [&](const Tensor& y, auto vjp) {
    return x.tape().record(as_dtype_of(x, y).reshape(shape), {{x, [t, y, axes, vjp](const Tensor& g) {
                                                                 return map(t.dtype(), t, y,
                                                                            expand_reduced(g, t.shape(), axes), vjp);
                                                               }}});
  };
  const auto sign = [](auto v) { return static_cast<decltype(v)>((v > 0) - (v < 0)); };
  if (std::isinf(p)) {
    const Tensor magnitude = map(wide, t, [](auto v) { return std::abs(v); });
    const Tensor y = extremum(p > 0 ? Extremum::maximum : Extremum::minimum, magnitude, axes, true);
    return x.tape().record(as_dtype_of(x, y).reshape(shape),
                           {{x, [t, magnitude, y, axes, sign](const Tensor& g) {
                               return map(t.dtype(), t, share_over_ties(magnitude, y, g, axes),
                                          [sign](auto v, auto share) { return sign(v) * share; });
                             }}});
  }
  if (p == 0) {
    return x.tape().constant(
        as_dtype_of(x, sum_of([](auto v) { return static_cast<decltype(v)>(v != 0); })).reshape(shape));
  }
  if (p == 1) {
    return record(sum_of([](auto v) { return std::abs(v); }), [sign](auto v, auto, auto g) { return g * sign(v); });
  }
  if (p == 2) {
    const Tensor squares = sum_of([](auto v) { return v * v; });
    return record(map(wide, squares, [](auto s) { return std::sqrt(s); }),
                  [](auto v, auto y, auto g) { return y == 0 ? decltype(v){0} : g * v / y; });
  }
  // torch keeps the order in float32 for the norm itself, whatever the tensor is, and in float64 for the gradient.
  const double order = static_cast<float>(p);
  const Tensor powers = sum_of([order](auto v) { return std::pow(std::abs(v), static_cast<decltype(v)>(order)); });
  return record(map(wide, powers, [order](auto s) { return std::pow(s, static_cast<decltype(s)>(1 / order)); }),
                [p](auto v, auto y, auto g) {
                  using T = decltype(v);
                  if (v == 0 || y == 0) return T{0};
                  return g * v * std::pow(std::abs(v), static_cast<T>(p - 2)) / std::pow(y, static_cast<T>(p - 1));
                });
}

namespace {

// torch's dtype= of a reduction: the input is converted first.
Var as_requested(const Bound& args) {
  const Var x = args.var("input");
  const std::optional<DType> dtype = args.optional_dtype("dtype");
  return dtype ? cast(x, *dtype) : x;
}

// Integers add up in int64; a dtype that was asked for is that of the result.
Var in_requested_dtype(const Bound& args, const Var& result) {
  const std::optional<DType> dtype = args.optional_dtype("dtype");
  return dtype ? cast(result, *dtype) : result;
}

Tensor without_nan(const Tensor& x) {
  return map(x.dtype(), x, [](auto v) { return std::isnan(v) ? decltype(v){0} : v; });
}

Tensor not_nan(const Tensor& x) {
  return map_as(compute_of(x.dtype()), DType::boolean, x, floats_only([](auto v) { return !std::isnan(v); }));
}

Var nansum(const Var& x, const Dims& axes, bool keepdim) {
  if (!is_floating(x.dtype())) return sum(x, axes, keepdim);
  const Var numbers = x.tape().record(
      without_nan(x.tensor()),
      {{x, [t = x.tensor()](const Tensor& g) {
          return map(t.dtype(), t, g, [](auto v, auto gradient) { return std::isnan(v) ? decltype(v){0} : gradient; });
        }}});
  return sum(numbers, axes, keepdim);
}

Var nanmean(const Var& x, const Dims& axes, bool keepdim) {
  require_floating(x, "nanmean");
  const Tensor t = x.tensor();
  const Tensor count = sum(not_nan(t), axes, keepdim);
  const Tensor total = sum_unrounded(without_nan(t), axes, keepdim, x.arithmetic());
  const auto divide = [](auto s, auto n) { return s / n; };
  return x.tape().record(
      as_dtype_of(x, map(total.dtype(), total, count, divide)),
      {{x, [t, count, axes](const Tensor& g) {
          return map(t.dtype(), t, expand_reduced(count, t.shape(), axes), expand_reduced(g, t.shape(), axes),
                     [](auto v, auto n, auto gradient) { return std::isnan(v) ? decltype(v){0} : gradient / n; });
        }}});
}

// Sums of squared deviations from the mean over n - correction, in two passes.
struct Variance {
  Tensor mean;  // wide, with kept dimensions, as is the variance
  Tensor variance;
  double divisor;  // not below 0
};

Variance moments(const Var& x, const Dims& axes, double correction) {
  require_floating(x, "var and std");
  const auto count = static_cast<double>(reduced_count(x.shape(), axes));
  Variance result;
  result.divisor = std::max(0.0, count - correction);
  const auto divide_by = [](double divisor) {
    return [divisor](auto v) { return v / static_cast<decltype(v)>(divisor); };
  };
  const Tensor total = sum_unrounded(x.tensor(), axes, true, x.arithmetic());
  result.mean = map(total.dtype(), total, divide_by(count));
  const Tensor squares = map(total.dtype(), x.tensor(), result.mean, [](auto v, auto m) { return (v - m) * (v - m); });
  result.variance = map(total.dtype(), sum_unrounded(squares, axes, true, x.arithmetic()), divide_by(result.divisor));
  return result;
}

Var variance(const Var& x, const Variance& m, const Dims& axes, bool keepdim) {
  return x.tape().record(as_dtype_of(x, m.variance).reshape(reduced_shape(x.shape(), axes, keepdim)),
                         {{x, [t = x.tensor(), mean = m.mean, divisor = m.divisor, axes](const Tensor& g) {
                             return map(t.dtype(), t, mean, expand_reduced(g, t.shape(), axes),
                                        [divisor](auto v, auto average, auto gradient) {
                                          return 2 * gradient * (v - average) / static_cast<decltype(v)>(divisor);
                                        });
                           }}});
}

Var deviation(const Var& x, const Variance& m, const Dims& axes, bool keepdim) {
  const Tensor y = map(m.variance.dtype(), m.variance, [](auto v) { return std::sqrt(v); });
  return x.tape().record(as_dtype_of(x, y).reshape(reduced_shape(x.shape(), axes, keepdim)),
                         {{x, [t = x.tensor(), y, mean = m.mean, divisor = m.divisor, axes](const Tensor& g) {
                             return map(t.dtype(), t, mean, y, expand_reduced(g, t.shape(), axes),
                                        [divisor](auto v, auto average, auto s, auto gradient) {
                                          using T = decltype(v);
                                          return s == 0 ? T{0}
                                                        : gradient * (v - average) / (static_cast<T>(divisor) * s);
                                        });
                           }}});
}

// std(x, unbiased), std(x, dim, unbiased, keepdim) and std(x, dim, *, correction, keepdim) in one signature.
struct MomentArguments {
  Var x;
  Dims axes;
  bool keepdim;
  double correction;
};

MomentArguments moment_arguments(const Bound& args) {
  MomentArguments result{args.var("input"), {}, args.flag("keepdim"), args.flag("unbiased") ? 1.0 : 0.0};
  if (const bool* unbiased = args.value("dim").get<bool>()) {
    result.correction = *unbiased ? 1 : 0;
  } else {
    result.axes = args.ints("dim");
  }
  if (args.given("correction")) result.correction = args.real("correction");
  return result;
}

// Of complex numbers the real variance: the sum of those of their parts, in double.
Var complex_variance(const MomentArguments& m) {
  const Var wide = cast(m.x, DType::complex128);
  const Var parts = view_as_real(m.x.rank() == 0 ? unsqueeze(wide, 0) : wide);
  Dims axes;
  for (const std::int64_t axis : m.axes) axes.push_back(normalize_axis(axis, parts.rank() - 1));
  for (std::int64_t axis = 0; m.axes.empty() && axis < parts.rank() - 1; ++axis) axes.push_back(axis);
  const Var both = variance(parts, moments(parts, axes, m.correction), axes, m.keepdim);
  const Var result = sum(both, {-1}, false);
  return m.x.rank() == 0 ? reshape(result, {}) : result;
}

Var variance(const MomentArguments& m) {
  if (is_complex(m.x.dtype())) return cast(complex_variance(m), part_dtype(m.x.dtype()));
  return variance(m.x, moments(m.x, m.axes, m.correction), m.axes, m.keepdim);
}

Var deviation(const MomentArguments& m) {
  if (is_complex(m.x.dtype())) return cast(sqrt(complex_variance(m)), part_dtype(m.x.dtype()));
  return deviation(m.x, moments(m.x, m.axes, m.correction), m.axes, m.keepdim);
}

// The product of the others, also where an element is zero.
Tensor prod_vjp(const Tensor& x, const Tensor& g, const Dims& axes) {
  const DType wide = is_complex(x.dtype()) ? DType::complex128 : wide_dtype(x.dtype());
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const ReductionView view = reduction_view(x.to(wide), axes);
    const Tensor gradient = g.to(wide).contiguous();
    Tensor others(wide, view.tensor.shape());
    T* target = others.mutable_data<T>();
    const T* from = view.tensor.data<T>();
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        const std::int64_t start = o * view.extent * view.inner + i;
        T before = gradient.data<T>()[o * view.inner + i];
        for (std::int64_t r = 0; r < view.extent; ++r) {
          target[start + r * view.inner] = before;
          before *= conjugate(from[start + r * view.inner]);
        }
        T after = 1;
        for (std::int64_t r = view.extent; r-- > 0;) {
          target[start + r * view.inner] *= after;
          after *= conjugate(from[start + r * view.inner]);
        }
      }
    }
    return others.to(x.dtype());
  };
  if (wide == DType::complex128) return run(Complex{});
  return wide == DType::float64 ? run(double{}) : run(float{});
}

Var prod(const Var& x, const Dims& axes, bool keepdim) {
  if (axes.size() > 1) throw SkipError("prod takes one dimension.");
  return x.tape().record(
      prod(x.tensor(), axes, keepdim),
      {{x, [t = x.tensor(), axes](const Tensor& g) { return prod_vjp(t, g, axes).reshape(t.shape()); }}});
}

Tensor nonzero_count(const Var& x, const Dims& axes, bool keepdim) {
  if (is_complex(x.dtype())) return sum(x.tensor().to(DType::boolean), axes, keepdim);
  return sum(map_as(compute_of(x.dtype()), DType::boolean, x.tensor(), [](auto v) { return v != 0; }), axes, keepdim);
}

enum class Quantifier : std::uint8_t { all, any };

Value quantified(const Bound& args, Quantifier quantifier) {
  const Var x = args.var("input");
  const Dims axes = args.ints("dim");
  const Tensor count = nonzero_count(x, axes, args.flag("keepdim"));
  const auto needed = quantifier == Quantifier::all ? reduced_count(x.shape(), axes) : 1;
  const DType dtype = x.dtype() == DType::uint8 ? DType::uint8 : DType::boolean;
  return args.tape().constant(map_as(Compute::int64, dtype, count, [needed](auto n) {
    return static_cast<decltype(n)>(n >= static_cast<decltype(n)>(needed));
  }));
}

double norm_order(const Value& p) {
  if (const double* real = p.get<double>()) return *real;
  if (const auto* integer = p.get<std::int64_t>()) return static_cast<double>(*integer);
  if (p.is_none()) return 2;
  if (const std::string* text = p.get<std::string>()) {
    if (*text == "fro") return 2;
    if (*text == "inf") return std::numeric_limits<double>::infinity();
    if (*text == "-inf") return -std::numeric_limits<double>::infinity();
    throw SkipError("norm of order '" + *text + "' is not supported.");
  }
  throw SkipError("The order of a norm must be a number or 'fro'.");
}

Value vector_norm_of(const Bound& args, const char* order) {
  return vector_norm(as_requested(args), norm_order(args.value(order)), args.ints("dim"), args.flag("keepdim"));
}

// linalg.norm: a vector norm unless an order is given for two axes.
Value linalg_norm(const Bound& args) {
  const Var x = as_requested(args);
  Dims axes = args.ints("dim");
  const bool matrix = args.given("ord") && (axes.size() == 2 || (axes.empty() && x.rank() == 2));
  if (!matrix) return vector_norm_of(args, "ord");
  return matrix_norm(x, args.value("ord"), axes.empty() ? Dims{0, 1} : axes, args.flag("keepdim"));
}

// torch.norm: the sum of powers over all axes that are reduced, whatever their number; 'nuc' is a matrix norm.
Value plain_norm(const Bound& args) {
  const std::string* text = args.value("p").get<std::string>();
  if (text == nullptr || *text != "nuc") return vector_norm_of(args, "p");
  const Dims axes = args.ints("dim");
  return matrix_norm(as_requested(args), *text, axes.empty() ? Dims{-2, -1} : axes, args.flag("keepdim"));
}

Tensor histogram(const Tensor& x, std::int64_t bins, double low, double high) {
  if (bins <= 0) throw SkipError("histc: bins must be positive.");
  const Tensor values = x.to(DType::float64).contiguous();
  const double* from = values.data<double>();
  if (low == high && x.numel() > 0) {
    low = extremum(Extremum::minimum, values, {}, false).item();
    high = extremum(Extremum::maximum, values, {}, false).item();
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  if (!std::isfinite(low) || !std::isfinite(high)) throw SkipError("histc: the range of the data is not finite.");
  if (high < low) throw SkipError("histc: max must be larger than min.");
  // Far from zero the range of one value is still empty, and that of the largest ones is infinite.
  const double width = high - low;
  if (!(width > 0 && std::isfinite(width))) throw SkipError("histc: the range of the data is too wide or too narrow.");
  Tensor counts = Tensor::zeros(DType::int64, Dims{bins});
  auto* target = counts.mutable_data<std::int64_t>();
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    if (!(from[i] >= low && from[i] <= high)) continue;
    const auto bin = static_cast<std::int64_t>((from[i] - low) / width * static_cast<double>(bins));
    ++target[std::min(bin, bins - 1)];
  }
  return counts.to(is_floating(x.dtype()) ? x.dtype() : DType::float32);
}

Tensor bin_counts(const Tensor& x, const Tensor& weights, std::int64_t at_least) {
  if (x.rank() != 1 || is_floating(x.dtype()) || is_complex(x.dtype())) {
    throw SkipError("bincount needs a vector of non-negative integers.");
  }
  if (at_least < 0) throw SkipError("bincount: minlength must not be negative.");
  if (weights.defined() && !(weights.shape() == x.shape()))
    throw SkipError("bincount: the weights must have the shape of the input.");
  const Tensor values = x.to(DType::int64).contiguous();
  const auto* from = values.data<std::int64_t>();
  std::int64_t bins = at_least;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    if (from[i] < 0 || from[i] >= std::int64_t{1} << 40) {
      throw SkipError("bincount needs a vector of non-negative integers below 2^40.");
    }
    bins = std::max(bins, from[i] + 1);
  }
  if (!weights.defined()) {
    Tensor counts = Tensor::zeros(DType::int64, Dims{bins});
    for (std::int64_t i = 0; i < x.numel(); ++i) ++counts.mutable_data<std::int64_t>()[from[i]];
    return counts;
  }
  const Tensor wide = weights.to(DType::float64).contiguous();
  Tensor sums = Tensor::zeros(DType::float64, Dims{bins});
  for (std::int64_t i = 0; i < x.numel(); ++i) sums.mutable_data<double>()[from[i]] += wide.data<double>()[i];
  return weights.dtype() == DType::float32 ? sums.to(DType::float32) : sums;
}

}  // namespace

OP("sum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  return in_requested_dtype(args, sum(as_requested(args), args.ints("dim"), args.flag("keepdim")));
});
NAMES("sum", "Torch: sum; Tensor: sum; Aten: sum; Mint: sum");
TRAITS("sum", .autocast = AutocastPolicy::float32, .complex = true);

OP("sum_to_size(Tensor input, int[]... size)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const Dims shape = args.ints("size");
  if (!(broadcast_shapes(shape, x.shape()) == x.shape())) {
    throw SkipError("sum_to_size: shape " + tuple_text(x.shape()) + " does not reduce to " + tuple_text(shape) + ".");
  }
  // A sum of integers is int64. To no dimensions it is one even of a single element.
  const bool adds = shape.empty() || !(shape == x.shape());
  const Tensor addends =
      adds && !is_floating(x.dtype()) && !is_complex(x.dtype()) ? x.tensor().to(DType::int64) : x.tensor();
  return x.tape().record(sum_to(addends, shape), {{x, [from = x.shape()](const Tensor& g) { return g.expand(from); }}});
});
NAMES("sum_to_size", "Tensor: sum_to_size");
TRAITS("sum_to_size", .complex = true);

OP("nansum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  return in_requested_dtype(args, nansum(as_requested(args), args.ints("dim"), args.flag("keepdim")));
});
NAMES("nansum", "Torch: nansum; Tensor: nansum; Aten: nansum");

OP("mean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)",
   [](const Bound& args) -> Value { return mean(as_requested(args), args.ints("dim"), args.flag("keepdim")); });
NAMES("mean", "Torch: mean; Tensor: mean; Aten: mean; Mint: mean mean_ex");
TRAITS("mean", .complex = true);

OP("nanmean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)",
   [](const Bound& args) -> Value { return nanmean(as_requested(args), args.ints("dim"), args.flag("keepdim")); });
NAMES("nanmean", "Torch: nanmean; Tensor: nanmean");

OP("var(Tensor input, any dim=None, bool unbiased=True, bool keepdim=False, *, Scalar? correction=None)",
   [](const Bound& args) -> Value {
     const MomentArguments m = moment_arguments(args);
     return variance(m);
   });
NAMES("var", "Torch: var; Tensor: var; Aten: var");
TRAITS("var", .complex = true);

OP("std(Tensor input, any dim=None, bool unbiased=True, bool keepdim=False, *, Scalar? correction=None)",
   [](const Bound& args) -> Value {
     const MomentArguments m = moment_arguments(args);
     return deviation(m);
   });
NAMES("std", "Torch: std; Tensor: std; Aten: std");
TRAITS("std", .complex = true);

OP("var_mean(Tensor input, any dim=None, bool unbiased=True, bool keepdim=False, *, Scalar? correction=None)",
   [](const Bound& args) -> Value {
     const MomentArguments m = moment_arguments(args);
     return List{variance(m), mean(m.x, m.axes, m.keepdim)};
   });
NAMES("var_mean", "Torch: var_mean; Aten: var_mean");
TRAITS("var_mean", .complex = true);

OP("std_mean(Tensor input, any dim=None, bool unbiased=True, bool keepdim=False, *, Scalar? correction=None)",
   [](const Bound& args) -> Value {
     const MomentArguments m = moment_arguments(args);
     return List{deviation(m), mean(m.x, m.axes, m.keepdim)};
   });
NAMES("std_mean", "Torch: std_mean; Aten: std_mean");
TRAITS("std_mean", .complex = true);

OP("prod(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  return in_requested_dtype(args, prod(as_requested(args), args.ints("dim"), args.flag("keepdim")));
});
NAMES("prod", "Torch: prod; Tensor: prod; Aten: prod; Mint: prod");
TRAITS("prod", .autocast = AutocastPolicy::float32, .complex = true);

OP("logsumexp(Tensor input, int[] dim, bool keepdim=False)",
   [](const Bound& args) -> Value { return logsumexp(args.var("input"), args.ints("dim"), args.flag("keepdim")); });
NAMES("logsumexp", "Torch: logsumexp; Tensor: logsumexp; Aten: logsumexp");
TRAITS("logsumexp", .autocast = AutocastPolicy::float32);

OP("all(Tensor input, int[]? dim=None, bool keepdim=False)",
   [](const Bound& args) -> Value { return quantified(args, Quantifier::all); });
NAMES("all", "Torch: all; Tensor: all; Aten: all; Mint: all");
TRAITS("all", .complex = true);

OP("any(Tensor input, int[]? dim=None, bool keepdim=False)",
   [](const Bound& args) -> Value { return quantified(args, Quantifier::any); });
NAMES("any", "Torch: any; Tensor: any; Aten: any; Mint: any any_ex");
TRAITS("any", .complex = true);

OP("count_nonzero(Tensor input, int[]? dim=None)", [](const Bound& args) -> Value {
  return args.tape().constant(nonzero_count(args.var("input"), args.ints("dim"), false));
});
NAMES("count_nonzero", "Torch: count_nonzero; Tensor: count_nonzero; Aten: count_nonzero");
TRAITS("count_nonzero", .complex = true);

// The keyword `ord` marks a call of linalg.norm, which the dumper calls by the same name (api_inventory.md 2.3).
OP("norm(Tensor input, any p='fro', int[]? dim=None, bool keepdim=False, any out=None, dtype? dtype=None)",
   [](const Bound& args) -> Value { return plain_norm(args); });
OP("norm(Tensor input, any ord=None, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)",
   [](const Bound& args) -> Value { return linalg_norm(args); });
NAMES("norm", "Torch: norm native_norm; Tensor: norm; Aten: norm; Mint: norm");
TRAITS("norm", .autocast = AutocastPolicy::float32, .complex = true);

OP("frobenius_norm(Tensor input, int[]? dim=None, bool keepdim=False)", [](const Bound& args) -> Value {
  return vector_norm(args.var("input"), 2, args.ints("dim"), args.flag("keepdim"));
});
NAMES("frobenius_norm", "Torch: frobenius_norm");
TRAITS("frobenius_norm", .complex = true);

OP("linalg_norm(Tensor input, any ord=None, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)",
   [](const Bound& args) -> Value { return linalg_norm(args); });
NAMES("linalg_norm", "Torch: linalg.norm");
TRAITS("linalg_norm", .autocast = AutocastPolicy::float32, .complex = true);

OP("linalg_vector_norm(Tensor input, any ord=2, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)",
   [](const Bound& args) -> Value { return vector_norm_of(args, "ord"); });
NAMES("linalg_vector_norm", "Torch: linalg.vector_norm vector_norm; Aten: linalg_vector_norm");
TRAITS("linalg_vector_norm", .autocast = AutocastPolicy::float32, .complex = true);

OP("_foreach_norm(Tensor[] input, any ord=2, dtype? dtype=None)", [](const Bound& args) -> Value {
  List norms;
  for (const Var& x : args.vars("input")) norms.push_back(vector_norm(x, norm_order(args.value("ord")), {}, false));
  return norms;
});
NAMES("_foreach_norm", "Torch: _foreach_norm");

OP("dist(Tensor input, Tensor other, Scalar p=2)", [](const Bound& args) -> Value {
  Raised raised;
  const Var x = raised(args.var("input"));
  const Var y = raised(args.var("other"));
  return raised.back(vector_norm(sub(x, y), args.real("p"), {}, false));
});
NAMES("dist", "Torch: dist; Tensor: dist; Aten: dist");
TRAITS("dist", .autocast = AutocastPolicy::float32, .complex = true);

// The pre-check counts integers in float32 (acc_check_pytorch.md 6.2).
void adapt_integers(List& args, Dict& /*kwargs*/) {
  const TensorSpec* input = recorded_tensor(args, 0);
  if (input == nullptr) return;
  if (input->dtype != "torch.int8" && input->dtype != "torch.int32" && input->dtype != "torch.int64") return;
  auto changed = std::make_shared<TensorSpec>(*input);
  changed->dtype = "torch.float32";
  args[0] = std::shared_ptr<const TensorSpec>(std::move(changed));
}

OP("histc(Tensor input, int bins=100, Scalar min=0, Scalar max=0)", [](const Bound& args) -> Value {
  return args.tape().constant(
      histogram(args.var("input").tensor(), args.integer("bins"), args.real("min"), args.real("max")));
});
NAMES("histc", "Torch: histc; Tensor: histc; Mint: histc");
TRAITS("histc", .adapt = adapt_integers, .converts = DTypeChange{DType::int64, DType::float32});

OP("bincount(Tensor input, Tensor? weights=None, int minlength=0)", [](const Bound& args) -> Value {
  const std::optional<Var> weights = args.optional_var("weights");
  return args.tape().constant(
      bin_counts(args.var("input").tensor(), weights ? weights->tensor() : Tensor{}, args.integer("minlength")));
});
NAMES("bincount", "Torch: bincount; Tensor: bincount");

// One norm for each index along dim, over all other axes; dim -1 means over everything.
OP("norm_except_dim(Tensor v, int pow=2, int dim=0)", [](const Bound& args) -> Value {
  const Var x = args.var("v");
  const double p = static_cast<double>(args.integer("pow"));
  if (args.integer("dim") == -1) return vector_norm(x, p, {}, false);
  const std::int64_t kept = normalize_axis(args.integer("dim"), x.rank());
  Dims axes;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    if (axis != kept) axes.push_back(axis);
  }
  // Without an axis to reduce every element is its own norm.
  return axes.empty() ? vector_norm(unsqueeze(x, -1), p, {-1}, false) : vector_norm(x, p, axes, true);
});
NAMES("norm_except_dim", "Torch: norm_except_dim");

}  // namespace msrun
