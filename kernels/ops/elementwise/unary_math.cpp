// Transcendental and rounding functions of one operand (api_inventory.md section 3, elementwise unary).
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/base/error.h"
#include "kernels/numeric/complex_numbers.h"
#include "kernels/numeric/error_function.h"
#include "kernels/numeric/exponential.h"
#include "kernels/numeric/logarithm.h"
#include "kernels/numeric/roughness.h"
#include "kernels/numeric/special_functions.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/numbers.h"
#include "kernels/ops/common/operator_forms.h"
#include "kernels/ops/common/stored_factor.h"

namespace msrun {
namespace {

constexpr double ln2 = std::numbers::ln2;
constexpr double ln10 = std::numbers::ln10;
constexpr double pi = std::numbers::pi;

// Rounding functions leave integers as they are; their gradient is an exact zero.
template <class F>
Var rounding(const Var& x, F f) {
  return unary_any(
      x,
      [f](auto a) {
        if constexpr (std::is_integral_v<decltype(a)>) {
          return a;
        } else {
          return f(a);
        }
      },
      [](auto, auto, auto g) { return decltype(g){0}; });
}

// A product with a constant; integers become floats.
Var scaled(const Var& x, double factor) {
  return unary(
      x, [factor](auto a) { return a * static_cast<decltype(a)>(factor); },
      [factor](auto, auto, auto g) { return g * static_cast<decltype(g)>(factor); });
}

Var sin(const Var& x) {
  return complex_unary(
      x, [](auto a) { return std::sin(a); }, [](auto a, auto, auto g) { return g * conjugate(std::cos(a)); });
}
Var cos(const Var& x) {
  return complex_unary(
      x, [](auto a) { return std::cos(a); }, [](auto a, auto, auto g) { return -g * conjugate(std::sin(a)); });
}
// 1 + a, which a device may round before it goes on. Beside a multiple of its last place 1 is added exactly, which a
// dtype of fewer digits does not do.
auto one_and(auto a, std::uint32_t seed) { return rough_step(decltype(a){1} + a, seed); }

Var tan(const Var& x) {
  return complex_unary(
      x, [](auto a) { return std::tan(a); },
      [seed = x.context().jitter_seed, stored = StoredFactor::of_half(x.dtype())](auto, auto y, auto g) {
        return g * conjugate(stored(one_and(y * y, seed)));
      });
}

// 1 - a^2, of which a device may fuse the two operations or not, and round what they give before it goes on.
auto one_less_square(auto a, std::uint32_t seed) { return rough_step(decltype(a){1} - rough_step(a * a, seed), seed); }

Var asin(const Var& x) {
  return complex_unary(
      x, [](auto a) { return std::asin(a); },
      [seed = x.context().jitter_seed](auto a, auto, auto g) {
        return quotient(g, conjugate(std::sqrt(one_less_square(a, seed))));
      });
}
Var acos(const Var& x) {
  return complex_unary(
      x, [](auto a) { return std::acos(a); },
      [seed = x.context().jitter_seed](auto a, auto, auto g) {
        return quotient(-g, conjugate(std::sqrt(one_less_square(a, seed))));
      });
}
Var atan(const Var& x) {
  return complex_unary(
      x, [](auto a) { return std::atan(a); },
      [seed = x.context().jitter_seed, stored = StoredFactor::of_half(x.dtype())](auto a, auto, auto g) {
        return quotient(g, conjugate(stored(one_and(a * a, seed))));
      });
}
Var sinh(const Var& x) {
  return complex_unary(
      x, [](auto a) { return std::sinh(a); },
      [stored = StoredFactor::of_half(x.dtype())](auto a, auto, auto g) {
        return g * conjugate(stored(std::cosh(a)));
      });
}
Var cosh(const Var& x) {
  return complex_unary(
      x, [](auto a) { return std::cosh(a); },
      [stored = StoredFactor::of_half(x.dtype())](auto a, auto, auto g) {
        return g * conjugate(stored(std::sinh(a)));
      });
}
Var asinh(const Var& x) {
  return complex_unary(
      x, [](auto a) { return std::asinh(a); },
      [seed = x.context().jitter_seed, stored = StoredFactor::of_half(x.dtype())](auto a, auto, auto g) {
        return quotient(g, conjugate(std::sqrt(stored(one_and(a * a, seed)))));
      });
}
Var acosh(const Var& x) {
  return complex_unary(
      x, [](auto a) { return std::acosh(a); },
      [seed = x.context().jitter_seed, stored = StoredFactor::of_half(x.dtype())](auto a, auto, auto g) {
        const decltype(a) one{1};
        // The root of the product has the wrong sign where the real part is negative.
        if (is_complex_number<decltype(a)>) return quotient(g, conjugate(std::sqrt(a + one) * std::sqrt(a - one)));
        return quotient(g, conjugate(std::sqrt(stored(rough_step(a * a, seed)) - one)));
      });
}
Var atanh(const Var& x) {
  return complex_unary(
      x, [](auto a) { return std::atanh(a); },
      [seed = x.context().jitter_seed](auto a, auto, auto g) {
        return quotient(g, conjugate(one_less_square(a, seed)));
      });
}
Var exp2(const Var& x) {
  return unary(
      x, [](auto a) { return std::exp2(a); },
      [](auto, auto y, auto g) { return g * y * static_cast<decltype(g)>(ln2); });
}
Var expm1(const Var& x) {
  return unary(
      x, [](auto a) { return exponential_minus_one(a); },
      [seed = x.context().jitter_seed](auto, auto y, auto g) {
        return g * ((seed != 0 ? off_by_a_place(y, seed) : y) + 1);
      });
}
Var log2(const Var& x) {
  return complex_unary(
      x,
      [](auto a) {
        if constexpr (is_complex_number<decltype(a)>) {
          return std::log(a) / ln2;
        } else {
          return std::log2(a);
        }
      },
      [stored = StoredFactor::of_half(x.dtype())](auto a, auto, auto g) {
        return quotient(g, stored(conjugate(a) * static_cast<decltype(g)>(ln2)));
      });
}
Var log10(const Var& x) {
  return complex_unary(
      x, [](auto a) { return std::log10(a); },
      [stored = StoredFactor::of_half(x.dtype())](auto a, auto, auto g) {
        return quotient(g, stored(conjugate(a) * static_cast<decltype(g)>(ln10)));
      });
}
Var log1p(const Var& x) {
  return unary(
      x, [](auto a) { return logarithm_of_one_plus(a); },
      [seed = x.context().jitter_seed](auto a, auto, auto g) { return g / one_and(a, seed); });
}

Var erf(const Var& x) {
  return unary(
      x, [](auto a) { return error_function(a); },
      [stored = StoredFactor::of_half(x.dtype())](auto a, auto, auto g) {
        return g * static_cast<decltype(g)>(2 * std::numbers::inv_sqrtpi) * stored(exponential(-a * a));
      });
}
Var erfc(const Var& x) {
  return unary(
      x, [](auto a) { return std::erfc(a); },
      [stored = StoredFactor::of_half(x.dtype())](auto a, auto, auto g) {
        return -g * static_cast<decltype(g)>(2 * std::numbers::inv_sqrtpi) * stored(exponential(-a * a));
      });
}
// An argument of float64 as devices may take it: a place beside, but on no other side of what it is compared with. Near
// the end of a domain, and beside a pole, all that is left of its distance may hang on that place.
template <class T>
T argument_of_device(T a, std::uint32_t seed) {
  if constexpr (std::is_same_v<T, double>) {
    if (seed == 0 || a == std::nearbyint(a)) return a;
    const T beside = a_place_beside(a, seed);
    return beside == std::nearbyint(beside) ? a : beside;
  }
  return a;
}

Var erfinv(const Var& x) {
  return unary(
      x,
      // Frameworks improve it by steps as large as the error function of the last one is off.
      [seed = x.context().jitter_seed](auto a) {
        return static_cast<decltype(a)>(erf_inverse(argument_of_device(a, seed)));
      },
      [](auto, auto y, auto g) {
        return g * static_cast<decltype(g)>(0.5 / std::numbers::inv_sqrtpi) * exponential(y * y);
      });
}
Var lgamma(const Var& x) {
  return unary(
      x, [](auto a) { return static_cast<decltype(a)>(log_gamma(a)); },
      [seed = x.context().jitter_seed, stored = StoredFactor::of_half(x.dtype())](auto a, auto, auto g) {
        return g * stored(static_cast<decltype(g)>(digamma(argument_of_device(a, seed))));
      });
}
Var digamma_of(const Var& x) {
  const bool in_float32 = x.context().recorded_dtype(x.dtype()) != DType::float64;
  return unary(
      x,
      // Beside a pole it is the tangent of an angle that is rounded.
      [seed = x.context().jitter_seed](auto a) {
        return static_cast<decltype(a)>(digamma(argument_of_device(a, seed)));
      },
      [in_float32, stored = StoredFactor::of_half(x.dtype()), rough = x.context().jitter_seed != 0](auto a, auto,
                                                                                                    auto g) {
        const bool cut = rough && std::is_same_v<decltype(a), double>;
        return g * stored(static_cast<decltype(g)>(cut ? trigamma_cut_short(a) : trigamma_beside_poles(a, in_float32)));
      });
}

Var sinc(const Var& x) {
  return unary(
      x,
      [](auto a) {
        using T = decltype(a);
        const T angle = static_cast<T>(pi) * a;
        return a == 0 ? T{1} : std::sin(angle) / angle;
      },
      // Near 0 cosine and y are 1 but for a place or less.
      [seed = x.context().jitter_seed](auto a, auto y, auto g) {
        using T = decltype(a);
        const T cosine = std::cos(static_cast<T>(pi) * a);
        return a == 0 ? T{0} : g * ((seed != 0 ? a_place_beside(cosine, seed) : cosine) - y) / a;
      });
}

Var sign(const Var& x) {
  return unary_any(
      x, [](auto a) { return static_cast<decltype(a)>((a > 0 ? 1 : 0) - (a < 0 ? 1 : 0)); },
      [](auto, auto, auto g) { return decltype(g){0}; });
}
Var ceil(const Var& x) {
  return rounding(x, [](auto a) { return std::ceil(a); });
}
Var floor(const Var& x) {
  return rounding(x, [](auto a) { return std::floor(a); });
}
Var trunc(const Var& x) {
  return rounding(x, [](auto a) { return std::trunc(a); });
}

// Half to even. With decimals the power of ten is multiplied, or divided by where decimals is negative, as in torch.
Var round(const Var& x, std::int64_t decimals) {
  if (decimals == 0) return rounding(x, [](auto a) { return std::nearbyint(a); });
  const double power = std::pow(10.0, std::abs(static_cast<double>(decimals)));
  return rounding(x, [power, down = decimals < 0](auto a) {
    using T = decltype(a);
    const T p = static_cast<T>(power);
    return down ? std::nearbyint(a / p) * p : std::nearbyint(a * p) / p;
  });
}

Var frac(const Var& x) {
  if (!is_floating(x.dtype())) throw SkipError("frac is not supported for integer tensors.");
  return unary(
      x, [](auto a) { return a - std::trunc(a); }, [](auto, auto, auto g) { return g; });
}

Var nan_to_num(const Var& x, std::optional<double> nan, std::optional<double> above, std::optional<double> below) {
  if (!is_floating(x.dtype())) return x;
  const double limit = max_finite(x.context().recorded_dtype(x.dtype()));
  return unary(
      x,
      [nan = nan.value_or(0), above = above.value_or(limit), below = below.value_or(-limit)](auto a) {
        using T = decltype(a);
        if (std::isnan(a)) return static_cast<T>(nan);
        if (std::isinf(a)) return static_cast<T>(a > 0 ? above : below);
        return a;
      },
      [](auto a, auto, auto g) { return std::isfinite(a) ? g : decltype(g){0}; });
}

Var deg2rad(const Var& x) { return scaled(x, pi / 180); }
Var rad2deg(const Var& x) { return scaled(x, 180 / pi); }

// 0 for positive, pi for negative numbers.
Var angle(const Var& x) {
  if (is_complex(x.dtype())) return argument(x);
  return unary(
      x, [](auto a) { return is_nan(a) ? a
                             : a < 0   ? static_cast<decltype(a)>(pi)
                                       : decltype(a){0}; },
      [](auto, auto, auto g) { return decltype(g){0}; });
}

}  // namespace

OP("sin(Tensor input)", unary_operator<sin>);
NAMES("sin", "Torch: sin sin_; Tensor: sin sin_; Aten: sin sin_; Mint: sin");
TRAITS("sin", .complex = true, .element_work = 8);

OP("cos(Tensor input)", unary_operator<cos>);
NAMES("cos", "Torch: cos cos_; Tensor: cos cos_; Aten: cos cos_; Mint: cos");
TRAITS("cos", .complex = true, .element_work = 8);

OP("tan(Tensor input)", unary_operator<tan>);
NAMES("tan", "Torch: tan tan_; Tensor: tan tan_; Aten: tan tan_; Mint: tan");
TRAITS("tan", .autocast = AutocastPolicy::float32, .complex = true);

OP("asin(Tensor input)", unary_operator<asin>);
NAMES("asin",
      "Torch: arcsin arcsin_ asin asin_; Tensor: arcsin arcsin_ asin asin_; Aten: arcsin arcsin_ asin asin_; "
      "Mint: arcsin asin");
TRAITS("asin", .autocast = AutocastPolicy::float32, .complex = true);

OP("acos(Tensor input)", unary_operator<acos>);
NAMES("acos",
      "Torch: acos acos_ arccos arccos_; Tensor: acos acos_ arccos arccos_; Aten: acos acos_ arccos arccos_; "
      "Mint: acos arccos");
TRAITS("acos", .autocast = AutocastPolicy::float32, .complex = true);

OP("atan(Tensor input)", unary_operator<atan>);
NAMES("atan",
      "Torch: arctan arctan_ atan atan_; Tensor: arctan arctan_ atan atan_; Aten: arctan arctan_ atan atan_; "
      "Mint: arctan atan");
TRAITS("atan", .complex = true);

OP("sinh(Tensor input)", unary_operator<sinh>);
NAMES("sinh", "Torch: sinh sinh_; Tensor: sinh sinh_; Aten: sinh sinh_; Mint: sinh");
TRAITS("sinh", .autocast = AutocastPolicy::float32, .complex = true);

OP("cosh(Tensor input)", unary_operator<cosh>);
NAMES("cosh", "Torch: cosh cosh_; Tensor: cosh cosh_; Aten: cosh cosh_; Mint: cosh");
TRAITS("cosh", .autocast = AutocastPolicy::float32, .complex = true);

OP("asinh(Tensor input)", unary_operator<asinh>);
NAMES("asinh",
      "Torch: arcsinh arcsinh_ asinh asinh_; Tensor: arcsinh arcsinh_ asinh asinh_; Aten: arcsinh arcsinh_ "
      "asinh asinh_; Mint: arcsinh asinh");
TRAITS("asinh", .complex = true);

OP("acosh(Tensor input)", unary_operator<acosh>);
NAMES("acosh",
      "Torch: acosh acosh_ arccosh arccosh_; Tensor: acosh acosh_ arccosh arccosh_; Aten: acosh acosh_ arccosh "
      "arccosh_; Mint: acosh arccosh");
TRAITS("acosh", .complex = true);

OP("atanh(Tensor input)", unary_operator<atanh>);
NAMES("atanh",
      "Torch: arctanh arctanh_ atanh atanh_; Tensor: arctanh arctanh_ atanh atanh_; Aten: arctanh arctanh_ "
      "atanh atanh_; Mint: arctanh atanh");
TRAITS("atanh", .complex = true);

OP("exp2(Tensor input)", unary_operator<exp2>);
NAMES("exp2", "Torch: exp2 exp2_; Tensor: exp2 exp2_; Aten: exp2 exp2_");

OP("expm1(Tensor input)", unary_operator<expm1>);
NAMES("expm1", "Torch: expm1 expm1_; Tensor: expm1 expm1_; Aten: expm1 expm1_; Mint: expm1");
TRAITS("expm1", .autocast = AutocastPolicy::float32);

OP("log2(Tensor input)", unary_operator<log2>);
NAMES("log2", "Torch: log2 log2_; Tensor: log2 log2_; Aten: log2 log2_");
TRAITS("log2", .autocast = AutocastPolicy::float32, .complex = true);

OP("log10(Tensor input)", unary_operator<log10>);
NAMES("log10", "Torch: log10 log10_; Tensor: log10 log10_; Aten: log10 log10_");
TRAITS("log10", .autocast = AutocastPolicy::float32, .complex = true);

OP("log1p(Tensor input)", unary_operator<log1p>);
NAMES("log1p", "Torch: log1p log1p_; Tensor: log1p log1p_; Aten: log1p log1p_; Mint: log1p");
TRAITS("log1p", .autocast = AutocastPolicy::float32);

OP("erf(Tensor input)", unary_operator<erf>);
NAMES("erf", "Torch: erf erf_; Tensor: erf erf_; Aten: erf erf_; Mint: erf");
TRAITS("erf", .element_work = 2);

OP("erfc(Tensor input)", unary_operator<erfc>);
NAMES("erfc", "Torch: erfc erfc_; Tensor: erfc erfc_; Aten: erfc erfc_; Mint: erfc");

OP("erfinv(Tensor input)", unary_operator<erfinv>);
NAMES("erfinv", "Torch: erfinv; Tensor: erfinv erfinv_; Aten: erfinv erfinv_; Mint: erfinv");
TRAITS("erfinv", .autocast = AutocastPolicy::float32);

OP("lgamma(Tensor input)", unary_operator<lgamma>);
NAMES("lgamma", "Torch: lgamma; Tensor: lgamma lgamma_; Aten: lgamma lgamma_");

OP("digamma(Tensor input)", unary_operator<digamma_of>);
NAMES("digamma", "Torch: digamma; Tensor: digamma digamma_; Aten: digamma digamma_");

OP("sinc(Tensor input)", unary_operator<sinc>);
NAMES("sinc", "Torch: sinc sinc_; Tensor: sinc sinc_; Aten: sinc sinc_; Mint: sinc");

OP("sign(Tensor input)", unary_operator<sign>);
NAMES("sign", "Torch: sign; Tensor: sign sign_; Aten: sign sign_; Mint: sign");

OP("sgn(Tensor input)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  return is_complex(x.dtype()) ? unit(x) : sign(x);
});
NAMES("sgn", "Torch: sgn; Tensor: sgn sgn_; Aten: sgn sgn_");
TRAITS("sgn", .complex = true);

OP("ceil(Tensor input)", unary_operator<ceil>);
NAMES("ceil", "Torch: ceil ceil_; Tensor: ceil ceil_; Aten: ceil ceil_; Mint: ceil");

OP("floor(Tensor input)", unary_operator<floor>);
NAMES("floor", "Torch: floor floor_; Tensor: floor floor_; Aten: floor floor_; Mint: floor");

OP("trunc(Tensor input)", unary_operator<trunc>);
NAMES("trunc",
      "Torch: fix fix_ trunc trunc_; Tensor: fix fix_ trunc trunc_; Aten: fix fix_ trunc trunc_; Mint: fix "
      "trunc");

// Decimals are rounded as integers of a multiple, which itself is rounded.
Steps rounds_decimals(const List& /*args*/, const Dict& kwargs) {
  const bool rounds = std::any_of(kwargs.begin(), kwargs.end(), [](const auto& item) {
    const auto* decimals = item.second.template get<std::int64_t>();
    return item.first == "decimals" && decimals != nullptr && *decimals != 0;
  });
  return rounds ? Steps::of_stored : Steps::none;
}

OP("round(Tensor input, *, int decimals=0)",
   [](const Bound& args) -> Value { return round(args.var("input"), args.integer("decimals")); });
NAMES("round", "Torch: round round_; Tensor: round round_; Aten: round round_; Mint: round");
TRAITS("round", .steps = rounds_decimals);

OP("frac(Tensor input)", unary_operator<frac>);
NAMES("frac", "Torch: frac frac_; Tensor: frac frac_; Aten: frac frac_");

OP("deg2rad(Tensor input)", unary_operator<deg2rad>);
NAMES("deg2rad", "Torch: deg2rad deg2rad_; Tensor: deg2rad deg2rad_; Aten: deg2rad deg2rad_");

OP("rad2deg(Tensor input)", unary_operator<rad2deg>);
NAMES("rad2deg", "Torch: rad2deg rad2deg_; Tensor: rad2deg rad2deg_; Aten: rad2deg rad2deg_");

OP("angle(Tensor input)", unary_operator<angle>);
NAMES("angle", "Torch: angle; Tensor: angle; Aten: angle");
TRAITS("angle", .complex = true);

OP("nan_to_num(Tensor input, float? nan=None, float? posinf=None, float? neginf=None)", [](const Bound& args) -> Value {
  return nan_to_num(args.var("input"), args.optional_real("nan"), args.optional_real("posinf"),
                    args.optional_real("neginf"));
});
NAMES("nan_to_num",
      "Torch: nan_to_num nan_to_num_; Tensor: nan_to_num nan_to_num_; Aten: nan_to_num nan_to_num_; Mint: "
      "nan_to_num");

OP("frexp(Tensor input)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  if (!is_floating(x.dtype())) throw SkipError("frexp needs a floating-point tensor.");
  const Tensor exponents = map_as(compute_of(x.dtype()), DType::int32, x.tensor(), floats_only([](auto v) {
                                    int exponent = 0;
                                    std::frexp(v, &exponent);
                                    return static_cast<decltype(v)>(std::isfinite(v) ? exponent : 0);
                                  }));
  const Var mantissa = unary(
      x,
      [](auto v) {
        int exponent = 0;
        return std::frexp(v, &exponent);
      },
      [](auto v, auto, auto g) {
        int exponent = 0;
        std::frexp(v, &exponent);
        return std::ldexp(g, std::isfinite(v) ? -exponent : 0);
      });
  return List{mantissa, x.tape().constant(exponents)};
});
NAMES("frexp", "Torch: frexp; Tensor: frexp; Aten: frexp");

}  // namespace msrun
