// Reductions to sums, moments and norms, and counts: the differentiable functions and the operators made of them.
#include <cmath>
#include <limits>

#include "kernels/api/operators.h"
#include "kernels/error.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/functions.h"
#include "kernels/ops/reduce.h"

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
  require_floating(x, "mean");
  const auto count = static_cast<double>(reduced_count(x.shape(), axes));
  const auto divide = [count](auto value) { return value / static_cast<decltype(value)>(count); };
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
  const Tensor total = sum_unrounded(map(wide, x.tensor(), shift, [](auto v, auto m) { return std::exp(v - m); }), axes,
                                     true, x.arithmetic());
  const Tensor y = map(wide, total, shift, [](auto s, auto m) { return std::log(s) + m; });
  return x.tape().record(
      as_dtype_of(x, y).reshape(reduced_shape(x.shape(), axes, keepdim)),
      {{x, [t = x.tensor(), y, axes](const Tensor& g) {
          return map(t.dtype(), t, y, expand_reduced(g, t.shape(), axes), [](auto v, auto s, auto gradient) {
            using T = decltype(v);
            return s == -std::numeric_limits<T>::infinity() ? T{0} : gradient * std::exp(v - s);
          });
        }}});
}

Var vector_norm(const Var& x, double p, const Dims& axes, bool keepdim) {
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
    const Tensor y = extremum(p > 0 ? Extremum::maximum : Extremum::minimum,
                              map(wide, t, [](auto v) { return std::abs(v); }), axes, true);
    const auto is_extremum = [](auto v, auto m) { return std::abs(v) == m || (std::isnan(v) && std::isnan(m)); };
    return x.tape().record(as_dtype_of(x, y).reshape(shape),
                           {{x, [t, y, axes, sign, is_extremum](const Tensor& g) {
                               const auto mark = [is_extremum](auto v, auto m) { return is_extremum(v, m); };
                               const Tensor ties = sum(
                                   map_as(compute_of(y.dtype()), DType::boolean, t, y, floats_only(mark)), axes, true);
                               return map(t.dtype(), t, y, ties, expand_reduced(g, t.shape(), axes),
                                          [sign, is_extremum](auto v, auto m, auto count, auto gradient) {
                                            using T = decltype(v);
                                            return is_extremum(v, m) ? sign(v) * gradient / count : T{0};
                                          });
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
  const Tensor powers = sum_of([p](auto v) { return std::pow(std::abs(v), static_cast<decltype(v)>(p)); });
  return record(map(wide, powers, [p](auto s) { return std::pow(s, static_cast<decltype(s)>(1 / p)); }),
                [p](auto v, auto y, auto g) {
                  using T = decltype(v);
                  if (v == 0 || y == 0) return T{0};
                  return g * v * std::pow(std::abs(v), static_cast<T>(p - 2)) / std::pow(y, static_cast<T>(p - 1));
                });
}

}  // namespace msrun
