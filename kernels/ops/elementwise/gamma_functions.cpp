// Operators of the gamma function's family and the Bessel function i0. Values are computed in double whatever the
// dtype: the cost is in the functions, not in the width.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "kernels/base/error.h"
#include "kernels/numeric/roughness.h"
#include "kernels/numeric/special_functions.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/operator_forms.h"

namespace msrun {
namespace {

// What an incomplete gamma function may be where its factor x^a e^-x / gamma(a) is made of logarithms, each of which is
// off by half a place. It is that of the smaller function, the other one is 1 less that. Of large orders frameworks
// make it of differences that are small.
template <class T>
T rough_incomplete_gamma(double value, double a, double x, std::uint32_t seed) {
  constexpr double most = 16;
  const double terms = std::min(std::abs(a * std::log(x)) + x + std::abs(log_gamma(a)) + 1, most);
  const double off = std::numeric_limits<T>::epsilon() / 2 * terms * std::min(value, 1 - value);
  if (!std::isfinite(off)) return static_cast<T>(value);
  return static_cast<T>(word_of(value, seed) % 2 == 0 ? value + off : value - off);
}

// The incomplete gamma functions of order a. The gradient is that of x alone: torch has none for the order. slope is 1
// for the lower function, -1 for the upper one.
template <class F>
Var incomplete_gamma(const Var& a, const Var& x, F f, double slope) {
  const DType dtype = float_result_dtype({&a, &x});
  const auto value = [f, seed = x.context().jitter_seed](auto order, auto at) {
    using T = decltype(at);
    const auto k = static_cast<double>(order);
    const auto t = static_cast<double>(at);
    const double exact = f(k, t);
    if constexpr (std::is_floating_point_v<T>) {
      if (seed != 0) return rough_incomplete_gamma<T>(exact, k, t, seed);
    }
    return static_cast<T>(exact);
  };
  const auto vjp = [dtype, slope, a = a.tensor(), x = x.tensor(), shape = x.shape(),
                    &context = x.context()](const Tensor& gradient) {
    const Tensor full = map(dtype, a, x, gradient, [slope](auto order, auto at, auto g) {
      const auto k = static_cast<double>(order);
      const auto t = static_cast<double>(at);
      return static_cast<decltype(g)>(slope * static_cast<double>(g) *
                                      std::exp((k - 1) * std::log(t) - t - log_gamma(k)));
    });
    return sum_to(full, shape, context);
  };
  return x.tape().record(map(dtype, a.tensor(), x.tensor(), value), {{x, vjp}});
}

Var igamma(const Var& a, const Var& x) { return incomplete_gamma(a, x, gamma_p, 1); }
Var igammac(const Var& a, const Var& x) { return incomplete_gamma(a, x, gamma_q, -1); }

Var polygamma_of(const Var& x, std::int64_t n) {
  if (n < 0) throw SkipError("polygamma(n, x) does not support negative n.");
  if (n > 1000000) throw SkipError("polygamma: n is too large.");
  const bool in_float32 = x.context().recorded_dtype(x.dtype()) != DType::float64;
  const bool cut = x.context().jitter_seed != 0 && float_result_dtype({&x}) == DType::float64;
  // Frameworks have the zeta function of higher orders of a series whose rest is 0 times infinity there.
  const bool open_end = x.context().gives_alternative();
  const auto derivative = [in_float32, cut, open_end](std::int64_t order, double v) {
    if (open_end && order > 1 && v == std::numeric_limits<double>::infinity())
      return std::numeric_limits<double>::quiet_NaN();
    if (order == 1) return cut ? trigamma_cut_short(v) : trigamma_beside_poles(v, in_float32);
    return polygamma(order, v);
  };
  return unary(
      x, [=](auto v) { return static_cast<decltype(v)>(derivative(n, static_cast<double>(v))); },
      [=](auto v, auto, auto g) { return g * static_cast<decltype(g)>(derivative(n + 1, static_cast<double>(v))); });
}

// log of the multivariate gamma function of dimension p. Up to (p - 1) / 2, where that is not defined, the sum of which
// it consists, as torch has it.
Var mvlgamma(const Var& x, std::int64_t p) {
  if (p < 1 || p > 10000) throw SkipError("mvlgamma: p must be between 1 and 10000.");
  const double dimension = static_cast<double>(p);
  const double constant = dimension * (dimension - 1) / 4 * std::log(std::numbers::pi);
  // Frameworks store the terms and their sum, to which they then add the constant.
  const auto sum = [p, seed = x.context().jitter_seed](auto v, double (*f)(double)) {
    using T = decltype(v);
    double total = 0;
    for (std::int64_t j = 0; j < p; ++j) {
      const double term = f(static_cast<double>(v) - static_cast<double>(j) / 2);
      total += seed == 0 ? term : static_cast<double>(rough_step(static_cast<T>(term), seed));
    }
    return seed == 0 ? total : static_cast<double>(rough_step(static_cast<T>(total), seed));
  };
  return unary(
      x, [=](auto v) { return static_cast<decltype(v)>(constant + sum(v, log_gamma)); },
      [=](auto v, auto, auto g) { return g * static_cast<decltype(g)>(sum(v, digamma)); });
}

Var i0(const Var& x) {
  return unary(
      x, [](auto v) { return static_cast<decltype(v)>(bessel_i0(static_cast<double>(v))); },
      [](auto v, auto, auto g) { return g * static_cast<decltype(g)>(bessel_i1(static_cast<double>(v))); });
}

Value polygamma_operator(const Bound& args) { return polygamma_of(args.var("input"), args.integer("n")); }

}  // namespace

OP("igamma(Tensor input, Tensor other)", binary_operator<igamma>);
NAMES("igamma", "Torch: igamma; Tensor: igamma igamma_; Aten: igamma igamma_");

OP("igammac(Tensor input, Tensor other)", binary_operator<igammac>);
NAMES("igammac", "Torch: igammac; Tensor: igammac igammac_; Aten: igammac igammac_");

OP("polygamma(int n, Tensor input)", polygamma_operator);
NAMES("polygamma", "Torch: polygamma; Aten: polygamma");

OP("polygamma_method(Tensor input, int n)", polygamma_operator);
OP("polygamma_method(int n, Tensor input)", polygamma_operator);
NAMES("polygamma_method", "Tensor: polygamma polygamma_");

OP("mvlgamma(Tensor input, int p)",
   [](const Bound& args) -> Value { return mvlgamma(args.var("input"), args.integer("p")); });
NAMES("mvlgamma", "Torch: mvlgamma; Tensor: mvlgamma mvlgamma_; Aten: mvlgamma mvlgamma_");

OP("i0(Tensor input)", unary_operator<i0>);
NAMES("i0", "Torch: i0 i0_; Tensor: i0 i0_; Aten: i0 i0_ special_i0");

}  // namespace msrun
