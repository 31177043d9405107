// Running sums, products and extrema along an axis, and differences of neighbours.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_extrema.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/complex_numbers.h"
#include "kernels/numeric/roughness.h"
#include "kernels/numeric/sums.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/stored_factor.h"
#include "kernels/ops/reduce/reductions.h"
#include "kernels/tensor/complex.h"

namespace msrun {
namespace {

// One run along the axis of a row-major tensor: element i lies at i * stride.
template <class T>
struct Line {
  T* at;
  std::int64_t stride;
  T& operator[](std::int64_t i) const { return at[i * stride]; }
};

// Calls f(extent, lines...) for every line along axis of contiguous tensors of one shape, all with elements of type T.
template <class T, class F, class... Tensors>
void for_each_line(std::int64_t axis, F f, const Tensor& first, Tensors&... others) {
  const ReductionView view = reduction_view(first, {axis});
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      const std::int64_t start = o * view.extent * view.inner + i;
      f(view.extent, Line<const T>{view.tensor.template data<T>() + start, view.inner},
        Line<T>{others.template mutable_data<T>() + start, view.inner}...);
    }
  }
}

// float64 for float64, float32 for the narrower floats, int64 for integers and bool, complex128 for complex numbers.
DType product_width(DType dtype) { return is_complex(dtype) ? DType::complex128 : wide_dtype(dtype); }

template <class F>
Tensor visit_floats(DType dtype, F f) {
  return dtype == DType::float64 ? f(double{}) : f(float{});
}

// One step of a running sum of floats: they sum in double, so that a long axis loses nothing, but for what a
// faulty accumulator makes of every step.
template <Accumulator A, class T>
T running_step(double& total, T value) {
  total = held<A>(total + static_cast<double>(value));
  return static_cast<T>(total);
}

// Running sums along the middle axis of [outer, extent, inner], from its end if `backwards`. Several sums at once,
// because each has to wait for its last addition.
template <Accumulator A, class T>
void running_sums(const T* from, T* to, const ReductionView& view, bool backwards) {
  constexpr std::int64_t together = 8;
  const std::int64_t extent = view.extent;
  const auto position = [=](std::int64_t i) { return backwards ? extent - 1 - i : i; };
  if (view.inner == 1) {
    std::int64_t line = 0;
    for (; line + together <= view.outer; line += together) {
      std::array<double, together> totals{};
      const std::int64_t first = line * extent;
      for (std::int64_t i = 0; i < extent; ++i) {
        const std::int64_t at = first + position(i);
        for (std::int64_t k = 0; k < together; ++k) {
          to[at + k * extent] = running_step<A>(totals[static_cast<std::size_t>(k)], from[at + k * extent]);
        }
      }
    }
    for (; line < view.outer; ++line) {
      double total = 0;
      for (std::int64_t i = 0; i < extent; ++i) {
        const std::int64_t at = line * extent + position(i);
        to[at] = running_step<A>(total, from[at]);
      }
    }
    return;
  }
  constexpr std::int64_t width = 512;
  std::array<double, width> totals;
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t start = 0; start < view.inner; start += width) {
      const std::int64_t count = std::min(width, view.inner - start);
      totals.fill(0);
      for (std::int64_t i = 0; i < extent; ++i) {
        const std::int64_t at = (o * extent + position(i)) * view.inner + start;
        for (std::int64_t k = 0; k < count; ++k) {
          to[at + k] = running_step<A>(totals[static_cast<std::size_t>(k)], from[at + k]);
        }
      }
    }
  }
}

Tensor running_float_sum(const Tensor& x, std::int64_t axis, const EvaluationContext& context, bool backwards) {
  const DType wide = wide_dtype(x.dtype());
  const ReductionView view = reduction_view(x.to(wide), {axis});
  context.note_sums(view.extent, view.outer * view.inner, SumForm::rows);
  Tensor result(wide, x.shape());
  return visit_floats(wide, [&](auto zero) {
    using T = decltype(zero);
    const T* from = view.tensor.template data<T>();
    with_accumulator(accumulator_of<T>(context.arithmetic), [&]<Accumulator A>(std::integral_constant<Accumulator, A>) {
      running_sums<A>(from, result.mutable_data<T>(), view, backwards);
    });
    return result.to(x.dtype());
  });
}

Tensor running_sum(const Tensor& x, std::int64_t axis, const EvaluationContext& context) {
  if (is_complex(x.dtype())) {
    return part_by_part(x, [&](const Tensor& part) { return running_sum(part, axis, context); });
  }
  if (is_floating(x.dtype())) return running_float_sum(x, axis, context, false);
  const DType wide = wide_dtype(x.dtype());
  Tensor result(wide, x.shape());
  for_each_line<std::int64_t>(
      axis,
      [](std::int64_t extent, auto from, auto to) {
        std::uint64_t total = 0;
        for (std::int64_t i = 0; i < extent; ++i) {
          total += static_cast<std::uint64_t>(from[i]);
          to[i] = static_cast<std::int64_t>(total);
        }
      },
      x.to(wide), result);
  return result;
}

// g summed from the end: the VJP of the running sum.
Tensor running_sum_vjp(const Tensor& g, std::int64_t axis, const EvaluationContext& context) {
  if (is_complex(g.dtype())) {
    return part_by_part(g, [&](const Tensor& part) { return running_sum_vjp(part, axis, context); });
  }
  return running_float_sum(g, axis, context, true);
}

}  // namespace

Var cumsum(const Var& x, std::int64_t axis) {
  return x.tape().record(
      running_sum(x.tensor(), axis, x.context()),
      {{x, [axis, &context = x.context()](const Tensor& g) { return running_sum_vjp(g, axis, context); }}});
}

namespace {

Tensor running_product(const Tensor& x, std::int64_t axis) {
  const DType wide = product_width(x.dtype());
  const Tensor source = x.to(wide);
  Tensor result(wide, x.shape());
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    for_each_line<T>(
        axis,
        [](std::int64_t extent, auto from, auto to) {
          T product{1};
          for (std::int64_t i = 0; i < extent; ++i) to[i] = product = wrapping_mul(product, from[i]);
        },
        source, result);
    return wide == DType::int64 ? result : result.to(x.dtype());
  };
  if (wide == DType::complex128) return run(Complex{});
  return wide == DType::int64 ? run(std::int64_t{}) : visit_floats(wide, run);
}

// Products g y of a line in place of its gradient g, of the products y as frameworks store them.
template <class T>
void weigh_by_products(std::int64_t extent, const StoredFactor& stored, const Line<const T>& from, const Line<T>& to) {
  T product{1};
  for (std::int64_t i = 0; i < extent; ++i) to[i] = stored(to[i] * conjugate(stored(product *= from[i])));
}

// These become the gradient of the line: dx_i = (sum of g_j y_j for j >= i) / x_i. Frameworks store the sums.
template <class T>
void running_product_quotients(std::int64_t extent, const StoredFactor& stored, const Line<const T>& from,
                               const Line<T>& to) {
  T total{0};
  for (std::int64_t i = extent; i-- > 0;) {
    total += to[i];
    to[i] = quotient(stored(total), conjugate(from[i]));
  }
}

// Gradients of a line that is not finite, of a tensor with a zero, as torch composes them: quotients before the first
// zero of the line, at this one the sum of what follows up to the next, and behind it nothing.
template <class T>
void compose_beside_zeros(std::int64_t extent, const StoredFactor& stored, const Line<const T>& from,
                          const Line<T>& to) {
  std::int64_t zero = 0;
  T before{1};
  for (; zero < extent && from[zero] != T{0}; ++zero) before *= from[zero];
  T at_zero{0};
  T product{1};
  bool is_behind_next = false;
  for (std::int64_t i = zero; i < extent; ++i) {
    if (i > zero) is_behind_next = is_behind_next || from[i] == T{0};
    if (i > zero && !is_behind_next) product *= from[i];
    // torch multiplies by 0 behind the next zero, which leaves no number of an infinite product.
    at_zero += (is_behind_next ? T{0} : to[i]) * conjugate(product);
    to[i] = T{0};
  }
  weigh_by_products(zero, stored, from, to);
  running_product_quotients(zero, stored, from, to);
  if (zero < extent) to[zero] = at_zero * conjugate(before);
}

// dx_i = (product of x before i) * s_i with s_i = g_i + x_{i+1} s_{i+1}: right for zeros too. Without zeros torch
// divides the sum of g y from i on by x_i, which makes other infinities and NaN where the line has some, and other
// errors in float32, where it is done as frameworks do it.
// y: the running products of x where they are stored in another dtype than its own; otherwise undefined, for what they
// are rounded to in that is left out.
Tensor running_product_vjp(const EvaluationContext& context, const Tensor& x, const Tensor& y, const Tensor& g,
                           std::int64_t axis) {
  const DType wide = product_width(y.defined() ? promote(x.dtype(), y.dtype()) : x.dtype());
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const Tensor source = x.to(wide).contiguous();
    const T* elements = source.data<T>();
    const bool has_zero = std::find(elements, elements + source.numel(), T{0}) != elements + source.numel();
    const bool weighted = y.defined() && !has_zero;
    const bool divides = weighted || std::is_same_v<T, float> || context.jitter_seed != 0;
    const auto times = complex_too([](auto gradient, auto product) { return gradient * conjugate(product); });
    Tensor result = weighted ? map(wide, g, off_by_places(y, context.jitter_seed), times) : g.to(wide).clone();
    for_each_line<T>(
        axis,
        [has_zero, weighted, divides, stored = StoredFactor::of_half(weighted ? wide : x.dtype())](std::int64_t extent,
                                                                                                   auto from, auto to) {
          bool infinite = false;
          bool none = false;
          for (std::int64_t i = 0; i < extent; ++i) {
            infinite = infinite || is_infinite(from[i]);
            none = none || is_nan(from[i]);
          }
          if (has_zero && (infinite || none)) return compose_beside_zeros(extent, stored, from, to);
          if ((infinite || divides) && !has_zero) {
            if (!weighted) weigh_by_products(extent, stored, from, to);
            return running_product_quotients(extent, stored, from, to);
          }
          for (std::int64_t i = extent - 1; i-- > 0;) to[i] += conjugate(from[i + 1]) * to[i + 1];
          T before = 1;
          for (std::int64_t i = 0; i < extent; ++i) {
            to[i] *= before;
            before *= conjugate(from[i]);
          }
        },
        source, result);
    return result.to(x.dtype());
  };
  return wide == DType::complex128 ? run(Complex{}) : visit_floats(wide, run);
}

Var cumprod(const Var& x, std::int64_t axis) {
  return x.tape().record(running_product(x.tensor(), axis),
                         {{x, [t = x.tensor(), axis, &context = x.context()](const Tensor& g) {
                             return running_product_vjp(context, t, {}, g, axis);
                           }}});
}

// Integers run in int64, and are given in the dtype that is asked for. Frameworks compute the gradient of a tensor that
// is cast to a dtype in its own: that of the result is rounded to it first.
template <class Run, class Vjp>
Var scan_in_requested_dtype(const Bound& args, const Run& run, const Vjp& vjp) {
  const Var x = args.var("input");
  const DType dtype = args.optional_dtype("dtype").value_or(x.dtype());
  const bool of_numbers = is_floating(dtype) && is_floating(x.dtype());
  if (args.tape().context().in_benchmark() || !of_numbers || x.dtype() == dtype)
    return in_requested_dtype(args, run(as_requested(args), args.integer("dim")));
  const Var y = run(x.tape().constant(x.tensor().to(dtype)), args.integer("dim"));
  const Tensor& products = y.tensor();
  return x.tape().record(products, {{x, [=, t = x.tensor(), axis = args.integer("dim")](const Tensor& g) {
                                       return vjp(t, products, g.to(t.dtype()), axis, x.context());
                                     }}});
}

// Index of the latest extremum up to each element; NaN wins.
Tensor running_extremum_index(Extremum which, const Tensor& x, std::int64_t axis) {
  const DType wide = wide_dtype(x.dtype());
  const Tensor source = x.to(wide);
  Tensor indices(DType::int64, x.shape());
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const ReductionView view = reduction_view(source, {axis});
    auto* target = indices.mutable_data<std::int64_t>();
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t i = 0; i < view.inner; ++i) {
        const std::int64_t start = o * view.extent * view.inner + i;
        const Line<const T> from{view.tensor.template data<T>() + start, view.inner};
        const Line<std::int64_t> to{target + start, view.inner};
        std::int64_t best = 0;
        for (std::int64_t r = 0; r < view.extent; ++r) {
          const T value = from[r];
          const T held = from[best];
          const bool wins = which == Extremum::maximum ? value >= held : value <= held;
          if (wins || is_nan(value)) best = r;
          to[r] = best;
        }
      }
    }
    return indices;
  };
  return wide == DType::int64 ? run(std::int64_t{}) : visit_floats(wide, run);
}

Value running_extremum(Extremum which, const Bound& args) {
  const Var x = args.var("input");
  const std::int64_t axis = args.integer("dim");
  const Tensor indices = running_extremum_index(which, x.tensor(), axis);
  return List{gather(x, axis, indices), args.tape().constant(indices)};
}

template <class T>
T log_of_sum(T a, T b) {
  const T larger = std::isnan(a) || a > b ? a : b;
  if (!std::isfinite(larger)) return larger;
  return larger + std::log1p(std::exp((a == larger ? b : a) - larger));
}

// The gradient of a line in place of that of its running result log_sums, x the line itself.
//
// As frameworks compose it: exp(x_i + log of the sum of exp(log g_j - y_j) from i on), of positive and of negative g
// apart. It loses as many digits as y has before the point.
template <class Numbers, class Sums, class Gradients>
void composed_gradient(std::int64_t extent, const Numbers& x, const Sums& log_sums, const Gradients& to) {
  using T = std::remove_cvref_t<decltype(to[0])>;
  T positive = -std::numeric_limits<T>::infinity();
  T negative = positive;
  for (std::int64_t i = extent; i-- > 0;) {
    T& side = to[i] > 0 ? positive : negative;
    if (to[i] != 0) side = log_of_sum(side, std::log(std::abs(to[i])) - log_sums[i]);
    to[i] = std::exp(positive + x[i]) - std::exp(negative + x[i]);
  }
}

// dx_i = exp(x_i - y_i) * s_i with s_i = g_i + exp(y_i - y_{i+1}) s_{i+1}; y never falls, so no exponent is positive.
// Behind an infinity nothing flows back, to the infinity itself NaN, and NaN spreads over its whole line.
template <class Numbers, class Sums, class Gradients>
void exact_gradient(std::int64_t extent, const Numbers& x, const Sums& log_sums, const Gradients& to) {
  using T = std::remove_cvref_t<decltype(to[0])>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (extent == 0) return;
  const T last = log_sums[extent - 1];
  for (std::int64_t i = extent - 1; i-- > 0;) {
    if (log_sums[i] == -infinity || log_sums[i + 1] == infinity) continue;
    to[i] += std::exp(log_sums[i] - log_sums[i + 1]) * to[i + 1];
  }
  for (std::int64_t i = 0; i < extent; ++i) {
    if (std::isnan(last)) to[i] = last;
    to[i] = x[i] == -infinity && log_sums[i] != -infinity ? to[i] * 0 : std::exp(x[i] - log_sums[i]) * to[i];
  }
}

template <class T>
Tensor logcumsumexp_gradient(std::uint32_t seed, const Tensor& x, const Tensor& y, const Tensor& gradient,
                             std::int64_t axis) {
  Tensor result = gradient.clone();
  Tensor log_sums = off_by_places(y, seed).clone();
  for_each_line<T>(
      axis,
      [composed = std::is_same_v<T, float> || seed != 0](std::int64_t extent, auto from, auto sums, auto to) {
        bool finite = true;
        for (std::int64_t i = 0; i < extent; ++i)
          finite = finite && std::isfinite(from[i]) && std::isfinite(sums[i]) && std::isfinite(to[i]);
        if (composed && finite) return composed_gradient(extent, from, sums, to);
        exact_gradient(extent, from, sums, to);
      },
      x, log_sums, result);
  return result;
}

Var logcumsumexp(const Var& x, std::int64_t axis) {
  if (!is_floating(x.dtype())) throw SkipError("logcumsumexp needs a floating point tensor.");
  const DType wide = wide_dtype(x.dtype());
  Tensor y(wide, x.shape());
  visit_floats(wide, [&](auto zero) {
    using T = decltype(zero);
    for_each_line<T>(
        axis,
        [](std::int64_t extent, auto from, auto to) {
          T total = -std::numeric_limits<T>::infinity();
          for (std::int64_t i = 0; i < extent; ++i) to[i] = total = log_of_sum(total, from[i]);
        },
        x.tensor().to(wide), y);
    return y;
  });
  return x.tape().record(y.to(x.dtype()),
                         {{x, [t = x.tensor(), y, wide, axis, seed = x.context().jitter_seed](const Tensor& g) {
                             return visit_floats(wide, [&](auto zero) {
                               using T = decltype(zero);
                               return logcumsumexp_gradient<T>(seed, t.to(wide).contiguous(), y,
                                                               g.to(wide).contiguous(), axis)
                                   .to(t.dtype());
                             });
                           }}});
}

// Differences of neighbours, n times; of bools, whether they differ.
Var diff(Var x, std::int64_t n, std::int64_t axis) {
  if (x.rank() == 0) throw SkipError("diff needs a tensor with at least one dimension.");
  if (n < 0) throw SkipError("diff: n must not be negative.");
  for (; n > 0 && x.size(axis) > 0; --n) {
    const std::int64_t length = x.size(axis) - 1;
    const Var later = slice(x, axis, 1, length);
    const Var earlier = slice(x, axis, 0, length);
    x = x.dtype() == DType::boolean ? predicate(later, earlier, [](auto a, auto b) { return a != b; })
                                    : sub(later, earlier);
  }
  return x;
}

}  // namespace

OP("cumsum(Tensor input, int dim, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  return scan_in_requested_dtype(args, cumsum,
                                 [](const Tensor&, const Tensor&, const Tensor& g, std::int64_t axis,
                                    const EvaluationContext& context) { return running_sum_vjp(g, axis, context); });
});
NAMES("cumsum", "Torch: cumsum; Tensor: cumsum cumsum_; Aten: cumsum cumsum_; Mint: cumsum");
TRAITS("cumsum", .autocast = AutocastPolicy::float32, .complex = true, .varies = Varies::results,
       .half_sums = HalfSums::results);

OP("cumprod(Tensor input, int dim, *, dtype? dtype=None)", [](const Bound& args) -> Value {
  return scan_in_requested_dtype(
      args, cumprod,
      [](const Tensor& x, const Tensor& y, const Tensor& g, std::int64_t axis, const EvaluationContext& context) {
        return running_product_vjp(context, x, y, g, axis);
      });
});
NAMES("cumprod", "Torch: cumprod; Tensor: cumprod cumprod_; Aten: cumprod cumprod_");
TRAITS("cumprod", .autocast = AutocastPolicy::float32, .complex = true, .half_sums = HalfSums::results);

OP("cummax(Tensor input, int dim)",
   [](const Bound& args) -> Value { return running_extremum(Extremum::maximum, args); });
NAMES("cummax", "Torch: cummax; Tensor: cummax; Aten: cummax; Mint: cummax");
TRAITS("cummax", .ties = {.indices = IndexOutput::of_values, .running = true}, .ranks = true,
       .half_sums = HalfSums::gradients);

OP("cummin(Tensor input, int dim)",
   [](const Bound& args) -> Value { return running_extremum(Extremum::minimum, args); });
NAMES("cummin", "Torch: cummin; Tensor: cummin; Aten: cummin; Mint: cummin");
TRAITS("cummin", .ties = {.indices = IndexOutput::of_values, .running = true}, .ranks = true,
       .half_sums = HalfSums::gradients);

OP("logcumsumexp(Tensor input, int dim)",
   [](const Bound& args) -> Value { return logcumsumexp(args.var("input"), args.integer("dim")); });
NAMES("logcumsumexp", "Torch: logcumsumexp; Tensor: logcumsumexp; Aten: logcumsumexp");
TRAITS("logcumsumexp", .half_sums = HalfSums::results);

OP("diff(Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None)",
   [](const Bound& args) -> Value {
     // No differences: what is prepended and appended does not count either.
     if (args.integer("n") == 0) return diff(args.var("input"), 0, args.integer("dim"));
     Raised raised;
     std::vector<Var> parts;
     if (args.given("prepend")) parts.push_back(raised(args.var("prepend")));
     parts.push_back(raised(args.var("input")));
     if (args.given("append")) parts.push_back(raised(args.var("append")));
     const std::int64_t axis = args.integer("dim");
     return raised.back(diff(parts.size() == 1 ? parts[0] : cat(parts, axis), args.integer("n"), axis));
   });
NAMES("diff", "Torch: diff; Tensor: diff");
TRAITS("diff", .complex = true);

}  // namespace msrun
