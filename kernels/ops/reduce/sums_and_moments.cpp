// Reductions to sums, products, moments and counts: the differentiable functions and the operators made of them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_extrema.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/complex_numbers.h"
#include "kernels/numeric/exponential.h"
#include "kernels/numeric/roughness.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/stored_factor.h"
#include "kernels/ops/reduce/reductions.h"
#include "kernels/tensor/complex.h"

namespace msrun {

void need_floating(const Var& x, const char* what) {
  if (!is_floating(x.dtype())) throw SkipError(std::string(what) + " needs a floating point tensor.");
}

namespace {

// As torch's messages call an integer dtype.
std::string scalar_type_text(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "Bool";
    case DType::uint8:
      return "Byte";
    case DType::int8:
      return "Char";
    case DType::int16:
      return "Short";
    case DType::int32:
      return "Int";
    case DType::int64:
      return "Long";
    default:
      return std::string(torch_name(dtype));
  }
}

}  // namespace

Var as_requested(const Bound& args) {
  const Var x = args.var("input");
  const std::optional<DType> dtype = args.optional_dtype("dtype");
  return dtype ? computed_in(x, *dtype) : x;
}

Var in_requested_dtype(const Bound& args, const Var& result) {
  const std::optional<DType> dtype = args.optional_dtype("dtype");
  return dtype && !is_floating(result.dtype()) ? cast(result, *dtype) : result;
}

Var sum(const Var& x, const Dims& axes, bool keepdim) {
  const Tensor total = sum(x.tensor(), axes, keepdim, x.context());
  return x.tape().record(total, {{x, [shape = x.shape(), axes, total, &context = x.context()](const Tensor& g) {
                                    context.release_sums(reduced_count(shape, axes), total);
                                    return expand_reduced(g, shape, axes);
                                  }}});
}

Var mean(const Var& x, const Dims& axes, bool keepdim) {
  if (!is_complex(x.dtype()) && !is_floating(x.dtype())) {
    throw SkipError(
        "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: " +
        scalar_type_text(x.dtype()));
  }
  const auto count = static_cast<double>(reduced_count(x.shape(), axes));
  const auto divide = complex_too([count](auto value) { return quotient(value, static_cast<decltype(value)>(count)); });
  const Tensor total = sum_unrounded(x.tensor(), axes, keepdim, x.context());
  const Tensor result = as_dtype_of(x, map(total.dtype(), total, divide));
  return x.tape().record(result,
                         {{x, [shape = x.shape(), axes, divide, result, &context = x.context()](const Tensor& g) {
                             context.release_sums(reduced_count(shape, axes), result);
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
                                     axes, true, x.context());
  const Tensor y = map(wide, total, shift, [](auto s, auto m) { return std::log(s) + m; });
  return x.tape().record(
      as_dtype_of(x, y).reshape(reduced_shape(x.shape(), axes, keepdim)),
      {{x, [t = x.tensor(), y, axes, seed = x.context().jitter_seed](const Tensor& g) {
          return map(t.dtype(), t, off_by_places(y, seed), expand_reduced(g, t.shape(), axes),
                     [seed](auto v, auto s, auto gradient) { return gradient * exponential(rough_step(v - s, seed)); });
        }}});
}

namespace {

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
  need_floating(x, "nanmean");
  const Tensor& t = x.tensor();
  const Tensor count = sum(not_nan(t), axes, keepdim, x.context().with_sound_arithmetic());
  const Tensor total = sum_unrounded(without_nan(t), axes, keepdim, x.context());
  const auto divide = [](auto s, auto n) { return s / n; };
  return x.tape().record(
      as_dtype_of(x, map(total.dtype(), total, count, divide)),
      {{x, [t, count, axes](const Tensor& g) {
          return map(t.dtype(), t, expand_reduced(count, t.shape(), axes), expand_reduced(g, t.shape(), axes),
                     // 0 / 0 where nothing was counted.
                     [](auto v, auto n, auto gradient) { return (std::isnan(v) ? gradient * 0 : gradient) / n; });
        }}});
}

// Sums of squared deviations from the mean over n - correction, in two passes.
struct Variance {
  Tensor mean;  // wide, with kept dimensions, as is the variance
  Tensor variance;
  double divisor;  // not below 0
};

Variance moments(const Var& x, const Dims& axes, double correction) {
  need_floating(x, "var and std");
  const auto count = static_cast<double>(reduced_count(x.shape(), axes));
  Variance result;
  result.divisor = std::max(0.0, count - correction);
  const auto divide_by = [](double divisor) {
    return [divisor](auto v) { return v / static_cast<decltype(v)>(divisor); };
  };
  const Tensor total = sum_unrounded(x.tensor(), axes, true, x.context());
  result.mean = map(total.dtype(), total, divide_by(count));
  if (x.dtype() == DType::float64) {
    // The mean of equal numbers is that number, of which a rounded sum would leave a rest: deviations, and a slope.
    const Tensor rests = map(total.dtype(), x.tensor(), result.mean, [](auto v, auto m) { return v - m; });
    const Tensor rest = sum_unrounded(rests, axes, true, x.context());
    result.mean = map(total.dtype(), result.mean, map(total.dtype(), rest, divide_by(count)),
                      [](auto m, auto r) { return m + r; });
  }
  const Tensor squares = map(total.dtype(), x.tensor(), result.mean, [](auto v, auto m) { return (v - m) * (v - m); });
  result.variance = map(total.dtype(), sum_unrounded(squares, axes, true, x.context()), divide_by(result.divisor));
  return result;
}

Var variance(const Var& x, const Variance& m, const Dims& axes, bool keepdim) {
  return x.tape().record(as_dtype_of(x, m.variance).reshape(reduced_shape(x.shape(), axes, keepdim)),
                         {{x, [t = x.tensor(), mean = m.mean, divisor = m.divisor, axes](const Tensor& g) {
                             const StoredFactor stored = StoredFactor::of_half(t.dtype());
                             return map(t.dtype(), t, mean, expand_reduced(g, t.shape(), axes),
                                        [divisor, stored](auto v, auto average, auto gradient) {
                                          using T = decltype(v);
                                          const T factor = static_cast<T>(2 / divisor) * gradient;
                                          if (!stored.keeps(factor) || !stored.keeps(average))
                                            return stored(factor) * (v - stored(average));
                                          return 2 * gradient * (v - average) / static_cast<T>(divisor);
                                        });
                           }}});
}

Var deviation(const Var& x, const Variance& m, const Dims& axes, bool keepdim) {
  const Tensor y = map(m.variance.dtype(), m.variance, [](auto v) { return std::sqrt(v); });
  return x.tape().record(as_dtype_of(x, y).reshape(reduced_shape(x.shape(), axes, keepdim)),
                         {{x, [t = x.tensor(), y, mean = m.mean, divisor = m.divisor, axes](const Tensor& g) {
                             const StoredFactor stored = StoredFactor::of_half(t.dtype());
                             return map(t.dtype(), t, mean, y, expand_reduced(g, t.shape(), axes),
                                        [divisor, stored](auto v, auto average, auto s, auto gradient) {
                                          using T = decltype(v);
                                          if (stored(s) == 0) return T{0};
                                          const T of_variance = gradient / (2 * stored(s));
                                          const T factor = static_cast<T>(2 / divisor) * stored(of_variance);
                                          if (!stored.keeps(of_variance) || !stored.keeps(factor) || !stored.keeps(s) ||
                                              !stored.keeps(average))
                                            return stored(factor) * (v - stored(average));
                                          return gradient * (v - average) / (static_cast<T>(divisor) * s);
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

// The variance of complex numbers is real: the sum of the variances of their parts, in double.
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

// Equal numbers have the slope 0 here, too, where that of the root is infinite.
Var root_of_variance(const Var& v) {
  return unary(
      v, [](auto a) { return std::sqrt(a); },
      [](auto, auto root, auto g) { return root == 0 ? decltype(g){0} : g / (2 * root); });
}

Var deviation(const MomentArguments& m) {
  if (is_complex(m.x.dtype())) return cast(root_of_variance(complex_variance(m)), part_dtype(m.x.dtype()));
  return deviation(m.x, moments(m.x, m.axes, m.correction), m.axes, m.keepdim);
}

// The mean by steps from one element to the next, each of which is rounded.
Tensor stepwise_mean(const EvaluationContext& context, const Tensor& x, const Dims& axes, bool keepdim) {
  const DType wide = wide_dtype(x.dtype());
  const ReductionView view = reduction_view(x.to(wide), axes);
  Tensor result(wide, keepdim ? view.keepdim_shape : view.reduced_shape);
  const auto run = [&, seed = context.jitter_seed](auto zero) {
    using T = decltype(zero);
    const T* from = view.tensor.template data<T>();
    T* to = result.template mutable_data<T>();
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        T mean = view.extent == 0 ? std::numeric_limits<T>::quiet_NaN() : T{0};
        for (std::int64_t r = 0; r < view.extent; ++r) {
          const T here = from[(o * view.extent + r) * view.inner + i];
          mean += rough_step((here - mean) / static_cast<T>(r + 1), seed);
        }
        to[o * view.inner + i] = mean;
      }
    }
    return result.to(x.dtype());
  };
  return wide == DType::float64 ? run(double{}) : run(float{});
}

// Frameworks form it by such steps, which leave a rest where the sum is 0, and are no number once it is infinite.
Var mean_beside_variance(const MomentArguments& m) {
  const Var result = mean(m.x, m.axes, m.keepdim);
  if (m.x.context().jitter_seed == 0 || is_complex(result.dtype())) return result;
  const auto undefined_if_infinite = [](auto v) { return std::isinf(v) ? undefined<decltype(v)>() : v; };
  const Tensor by_steps = stepwise_mean(m.x.context(), m.x.tensor(), m.axes, m.keepdim);
  return result.tape().record(map(result.dtype(), by_steps, undefined_if_infinite),
                              {{result, [](const Tensor& g) { return g; }}});
}

// The quotient of a product as float32 forms it, up to a place off, and the product itself: what frameworks that
// divide the stored product by each factor make of all gradients. in_float32 is what float32 makes of it factor by
// factor, which says nothing where that leaves the range on the way.
double stored_share(double product, float in_float32, std::uint32_t seed) {
  const bool is_formed = std::abs(static_cast<double>(in_float32) - product) <= std::abs(product) / 16;
  const float stored = is_formed ? in_float32 : static_cast<float>(product);
  return product == 0 ? 1 : static_cast<double>(off_by_a_place(stored, seed)) / product;
}

// The product of the others, also where an element is zero; without zeros it is the product over the element itself,
// which is NaN for an infinity and, if there is a NaN among them, for all. A product that is too large to be stored
// makes all of these infinite.
Tensor prod_vjp(const EvaluationContext& context, const Tensor& x, const Tensor& g, const Dims& axes) {
  const DType wide = is_complex(x.dtype()) ? DType::complex128 : wide_dtype(x.dtype());
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const ReductionView view = reduction_view(x.to(wide), axes);
    const Tensor gradient = g.to(wide).contiguous();
    Tensor others(wide, view.tensor.shape());
    T* target = others.mutable_data<T>();
    const T* from = view.tensor.data<T>();
    const auto zeros = std::count(from, from + view.tensor.numel(), T{0});
    const bool has_zero = zeros > 0;
    const std::uint32_t seed = x.dtype() == DType::float32 ? context.jitter_seed : 0;
    // The benchmark of bfloat16, in float32, stores nothing.
    const bool is_own = context.recorded_dtype(x.dtype()) == x.dtype();
    const StoredFactor stored = is_own ? StoredFactor(x.dtype()) : StoredFactor::of_half(x.dtype());
    if (axes.empty() && zeros > 1) return Tensor::zeros(x.dtype(), others.shape());
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        const std::int64_t start = o * view.extent * view.inner + i;
        T before = gradient.data<T>()[o * view.inner + i];
        bool any_nan = false;
        for (std::int64_t r = 0; r < view.extent; ++r) {
          target[start + r * view.inner] = before;
          before *= conjugate(from[start + r * view.inner]);
          any_nan = any_nan || is_nan(from[start + r * view.inner]);
        }
        T after = 1;
        for (std::int64_t r = view.extent; r-- > 0;) {
          T& here = target[start + r * view.inner];
          const T factor = conjugate(from[start + r * view.inner]);
          here *= after;
          if (!has_zero && (any_nan || is_infinite(factor))) here = undefined<T>();
          after *= factor;
        }
        double product = 1;
        float in_float32 = 1;
        for (std::int64_t r = 0; r < view.extent; ++r) {
          product *= std::real(from[start + r * view.inner]);
          in_float32 *= static_cast<float>(std::real(from[start + r * view.inner]));
        }
        if (!is_complex(x.dtype()) && !has_zero && !stored.holds(product)) {
          const T share = std::numeric_limits<double>::infinity();
          for (std::int64_t r = 0; r < view.extent; ++r) target[start + r * view.inner] *= share;
        }
        if (seed == 0) continue;
        const T share{static_cast<decltype(std::real(T{}))>(stored_share(product, in_float32, seed))};
        for (std::int64_t r = 0; r < view.extent; ++r) target[start + r * view.inner] *= share;
      }
    }
    return others.to(x.dtype());
  };
  if (wide == DType::complex128) return run(Complex{});
  return wide == DType::float64 ? run(double{}) : run(float{});
}

Var prod(const Var& x, const Dims& axes, bool keepdim) {
  if (axes.size() > 1) throw SkipError("prod takes one dimension.");
  return x.tape().record(prod(x.tensor(), axes, keepdim),
                         {{x, [t = x.tensor(), axes, &context = x.context()](const Tensor& g) {
                             return prod_vjp(context, t, g, axes).reshape(t.shape());
                           }}});
}

Tensor nonzero_count(const Var& x, const Dims& axes, bool keepdim) {
  const EvaluationContext sound = x.context().with_sound_arithmetic();
  if (is_complex(x.dtype())) return sum(x.tensor().to(DType::boolean), axes, keepdim, sound);
  return sum(map_as(compute_of(x.dtype()), DType::boolean, x.tensor(), [](auto v) { return v != 0; }), axes, keepdim,
             sound);
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

}  // namespace

OP("sum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  return in_requested_dtype(args, sum(as_requested(args), args.ints("dim"), args.flag("keepdim")));
});
NAMES("sum", "Torch: sum; Tensor: sum; Aten: sum; Mint: sum");
TRAITS("sum", .autocast = AutocastPolicy::float32, .complex = true, .rounds_once = true);

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
  return x.tape().record(sum_to(addends, shape, x.context().with_sound_arithmetic()),
                         {{x, [from = x.shape()](const Tensor& g) { return g.expand(from); }}});
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
TRAITS("mean", .complex = true, .rounds_once = true, .divides_sums = true);

OP("nanmean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)",
   [](const Bound& args) -> Value { return nanmean(as_requested(args), args.ints("dim"), args.flag("keepdim")); });
NAMES("nanmean", "Torch: nanmean; Tensor: nanmean");

OP("var(Tensor input, any dim=None, bool unbiased=True, bool keepdim=False, *, Scalar? correction=None)",
   [](const Bound& args) -> Value {
     const MomentArguments m = moment_arguments(args);
     return variance(m);
   });
NAMES("var", "Torch: var; Tensor: var; Aten: var");
TRAITS("var", .complex = true, .element_work = 1.6);

OP("std(Tensor input, any dim=None, bool unbiased=True, bool keepdim=False, *, Scalar? correction=None)",
   [](const Bound& args) -> Value {
     const MomentArguments m = moment_arguments(args);
     return deviation(m);
   });
NAMES("std", "Torch: std; Tensor: std; Aten: std");
TRAITS("std", .complex = true, .element_work = 1.6);

OP("var_mean(Tensor input, any dim=None, bool unbiased=True, bool keepdim=False, *, Scalar? correction=None)",
   [](const Bound& args) -> Value {
     const MomentArguments m = moment_arguments(args);
     return List{variance(m), mean_beside_variance(m)};
   });
NAMES("var_mean", "Torch: var_mean; Aten: var_mean");
TRAITS("var_mean", .complex = true);

OP("std_mean(Tensor input, any dim=None, bool unbiased=True, bool keepdim=False, *, Scalar? correction=None)",
   [](const Bound& args) -> Value {
     const MomentArguments m = moment_arguments(args);
     return List{deviation(m), mean_beside_variance(m)};
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
TRAITS("logsumexp", .autocast = AutocastPolicy::float32, .logarithm_of_sums = true);

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

}  // namespace msrun
