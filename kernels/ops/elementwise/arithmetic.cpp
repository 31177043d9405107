// Arithmetic on one, two and three operands.
#include <algorithm>
#include <cmath>

#include "kernels/base/error.h"
#include "kernels/numeric/complex_numbers.h"
#include "kernels/numeric/exponential.h"
#include "kernels/numeric/logarithm.h"
#include "kernels/numeric/roughness.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/numbers.h"
#include "kernels/ops/common/operator_forms.h"
#include "kernels/ops/common/stored_factor.h"

namespace msrun {
namespace {

// The edge to an operand of z = f(a, b) whose gradient vjp(g) needs less than all of a, b and z.
template <class V>
Edge edge_to(const Var& operand, V vjp) {
  return {operand, [vjp, shape = operand.shape(), &context = operand.context()](const Tensor& g) {
            return sum_to(vjp(g), shape, context);
          }};
}

Tensor unchanged(const Tensor& g) { return g; }

// Gradient times a factor that broadcasts to it.
auto times(const Tensor& factor) {
  return [factor](const Tensor& g) {
    return map(g.dtype(), factor, g, complex_too([](auto y, auto v) { return wrapping_mul(v, conjugate(y)); }));
  };
}

// The operands of a call itself.
struct Operands {
  Var a;
  Var b;
};

Operands swapped(const Operands& operands) { return {operands.b, operands.a}; }

Operands operands_of(const Bound& args) {
  const Var a = args.var("input");
  const Var b = args.var("other");
  const DType dtype = result_dtype({&a, &b});
  return {as_scalar_operand(a, dtype), as_scalar_operand(b, dtype)};
}

bool is_integral(DType dtype) { return !is_floating(dtype) && !is_complex(dtype); }

// x + alpha * y, of which a device may round the product or not; bool + bool is a logical or.
Var scaled_add(const Var& a, const Var& b, double alpha) {
  const DType dtype = result_dtype({&a, &b});
  if (dtype == DType::boolean) {
    return predicate(a, b, [](auto x, auto y) { return x != 0 || y != 0; });
  }
  if (is_integral(dtype) && alpha != std::trunc(alpha)) {
    throw SkipError("For integral input tensors, argument alpha must not be a floating point number.");
  }
  const auto [left, right] = with_rounded_integers(a, b);
  return binary(left, rough_step(right), complex_too([alpha](auto x, auto y) {
                  return wrapping_add(x, wrapping_mul(number_as<decltype(x)>(alpha), y));
                }),
                complex_too([](auto, auto, auto, auto g) { return g; }),
                complex_too([alpha](auto, auto, auto, auto g) { return static_cast<decltype(g)>(alpha) * g; }));
}

// With alpha 1, the usual case, no product is rounded.
Var add_or_scaled(const Operands& operands, double alpha) {
  const auto& [a, b] = operands;
  return alpha == 1 ? add(a, b) : scaled_add(a, b, alpha);
}

Var subtract(const Operands& operands, double alpha) {
  const auto& [a, b] = operands;
  if (a.dtype() == DType::boolean && b.dtype() == DType::boolean) {
    throw SkipError(
        "Subtraction, the `-` operator, with two bool tensors is not supported. "
        "Use the `^` or `logical_xor()` operator instead.");
  }
  return alpha == 1 ? sub(a, b) : scaled_add(a, b, -alpha);
}

// Integer division by zero traps on most processors; Python raises.
void refuse_integer_zero(const Var& a, const Var& b) {
  if (!is_integral(result_dtype({&a, &b})) || b.numel() == 0) return;
  // A number that wraps around may do so to 0.
  const Tensor divisor = as_recorded(b, result_dtype({&a, &b})).tensor().to(DType::int64).contiguous();
  const auto* values = divisor.data<std::int64_t>();
  if (std::find(values, values + divisor.numel(), 0) != values + divisor.numel()) throw SkipError("ZeroDivisionError");
}

template <class T>
T trunc_quotient(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    return y == -1 ? wrapping_neg(x) : x / y;
  } else {
    return std::trunc(x / y);
  }
}

// floor(x / y) without the rounding error of the quotient: from the exact remainder.
template <class T>
T floor_quotient(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == -1) return wrapping_neg(x);
    const T quotient = x / y;
    return x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
  } else {
    if (y == 0) return x / y;
    const T rest = std::fmod(x, y);
    T quotient = (x - rest) / y;
    if (rest != 0 && (rest < 0) != (y < 0)) quotient -= 1;
    if (quotient == 0) return std::copysign(T{0}, x / y);
    const T rounded = std::floor(quotient);
    return quotient - rounded > T{0.5} ? rounded + 1 : rounded;
  }
}

template <class T>
T trunc_remainder(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    return y == -1 ? 0 : x % y;
  } else {
    return std::fmod(x, y);
  }
}

// The remainder with the sign of the divisor.
template <class T>
T floor_remainder(T x, T y) {
  const T rest = trunc_remainder(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

// z = f(a, b) for a function that rounds what it has computed.
template <class F, class VA, class VB>
Var stepping(const Var& a, const Var& b, F f, VA vjp_a, VB vjp_b) {
  const auto [x, y] = as_recorded(a, b);
  return binary(x, y, f, vjp_a, vjp_b);
}

Var div_trunc(const Var& a, const Var& b) {
  refuse_integer_zero(a, b);
  const auto zero = [](auto, auto, auto, auto g) { return decltype(g){0}; };
  return stepping(
      a, b, [](auto x, auto y) { return trunc_quotient(x, y); }, zero, zero);
}

Var div_floor(const Var& a, const Var& b) {
  refuse_integer_zero(a, b);
  const auto zero = [](auto, auto, auto, auto g) { return decltype(g){0}; };
  return stepping(
      a, b, [](auto x, auto y) { return floor_quotient(x, y); }, zero, zero);
}

Var div_rounding(const Operands& operands, const Value& mode) {
  const auto& [a, b] = operands;
  if (mode.is_none()) return div(a, b);
  const std::string* text = mode.get<std::string>();
  if (text != nullptr && *text == "trunc") return div_trunc(a, b);
  if (text != nullptr && *text == "floor") return div_floor(a, b);
  throw SkipError("div expected rounding_mode to be one of None, 'trunc', or 'floor'.");
}

// torch has no derivative for it.
Var floor_divide(const Var& a, const Var& b) { return a.tape().constant(div_floor(a, b).tensor()); }

Var remainder(const Var& a, const Var& b) {
  refuse_integer_zero(a, b);
  return stepping(
      a, b, [](auto x, auto y) { return floor_remainder(x, y); }, [](auto, auto, auto, auto g) { return g; },
      [stored = StoredFactor::of_half(result_dtype({&a, &b}))](auto x, auto y, auto, auto g) {
        return -g * stored(floor_quotient(x, y));
      });
}

Var fmod(const Var& a, const Var& b) {
  refuse_integer_zero(a, b);
  return stepping(
      a, b, [](auto x, auto y) { return trunc_remainder(x, y); }, [](auto, auto, auto, auto g) { return g; },
      [stored = StoredFactor::of_half(result_dtype({&a, &b}))](auto x, auto y, auto, auto g) {
        return -g * stored(std::trunc(x / y));
      });
}

Var reciprocal(const Var& x) {
  return complex_unary(
      x, [](auto a) { return quotient(decltype(a){1}, a); },
      [stored = StoredFactor::of_half(x.dtype())](auto, auto y, auto g) {
        return stored.keeps(y * y) ? -g * conjugate(y) * conjugate(y) : -g * stored(y * y);
      });
}

Var addcmul(const Var& x, const Var& a, const Var& b, double value) {
  return ternary(
      result_dtype({&x, &a, &b}), x, rough_step(a), b, complex_too([value](auto s, auto u, auto v) {
        return wrapping_add(s, wrapping_mul(wrapping_mul(number_as<decltype(s)>(value), u), v));
      }),
      complex_too([](auto, auto, auto, auto g) { return g; }),
      complex_too([value](auto, auto, auto v, auto g) { return g * static_cast<decltype(g)>(value) * conjugate(v); }),
      complex_too([value](auto, auto u, auto, auto g) { return g * static_cast<decltype(g)>(value) * conjugate(u); }));
}

Var addcdiv(const Var& x, const Var& a, const Var& b, double value) {
  const DType dtype = result_dtype({&x, &a, &b});
  if (is_integral(dtype) || (is_integral(a.dtype()) && is_integral(b.dtype()))) {
    throw SkipError("Integer division with addcdiv is not supported.");
  }
  return ternary(dtype, x, rough_step(a), b, floats_only(complex_too([value](auto s, auto u, auto v) {
                   return s + quotient(static_cast<decltype(s)>(value) * u, v);
                 })),
                 complex_too([](auto, auto, auto, auto g) { return g; }),
                 complex_too([value](auto, auto, auto v, auto g) {
                   return quotient(g * static_cast<decltype(g)>(value), conjugate(v));
                 }),
                 complex_too([value](auto, auto u, auto v, auto g) {
                   return quotient(-g * static_cast<decltype(g)>(value) * conjugate(u), conjugate(v * v));
                 }));
}

// Both forms are exact at their end of the interval.
Var lerp(const Var& start, const Var& end, const Var& weight) {
  return ternary(
      float_result_dtype({&start, &end}), start, end, weight, floats_only([](auto s, auto e, auto w) {
        using T = decltype(s);
        return w < T{0.5} ? s + w * (e - s) : e - (e - s) * (1 - w);
      }),
      [](auto, auto, auto w, auto g) { return g * (1 - w); }, [](auto, auto, auto w, auto g) { return g * w; },
      [](auto s, auto e, auto, auto g) { return g * (e - s); });
}

}  // namespace

Var rough_step(const Var& x) {
  const std::uint32_t seed = x.context().jitter_seed;
  if (seed == 0 || !is_floating(x.dtype())) return x;
  return x.tape().record(off_by_places(x.tensor(), seed), {{x, [](const Tensor& g) { return g; }}});
}

Var add(const Var& a, const Var& b) {
  const DType dtype = result_dtype({&a, &b});
  if (dtype == DType::boolean) return scaled_add(a, b, 1);
  const auto [x, y] = with_rounded_integers(a, b);
  const Tensor z = map_as(compute_of(dtype), dtype, x.tensor(), y.tensor(),
                          complex_too([](auto left, auto right) { return wrapping_add(left, right); }));
  return a.tape().record(z, {edge_to(a, unchanged), edge_to(b, unchanged)});
}

Var sub(const Var& a, const Var& b) {
  const DType dtype = result_dtype({&a, &b});
  const auto [x, y] = with_rounded_integers(a, b);
  const Tensor z = map_as(compute_of(dtype), dtype, x.tensor(), y.tensor(),
                          complex_too([](auto left, auto right) { return wrapping_sub(left, right); }));
  const auto negated = [](const Tensor& g) { return map(g.dtype(), g, complex_too([](auto v) { return -v; })); };
  return a.tape().record(z, {edge_to(a, unchanged), edge_to(b, negated)});
}

Var mul(const Var& a, const Var& b) {
  const DType dtype = result_dtype({&a, &b});
  const auto [x, y] = with_rounded_integers(a, b);
  const Tensor z = map_as(compute_of(dtype), dtype, x.tensor(), y.tensor(),
                          complex_too([](auto left, auto right) { return wrapping_mul(left, right); }));
  return a.tape().record(z, {edge_to(a, times(y.tensor())), edge_to(b, times(x.tensor()))});
}

Var div(const Var& a, const Var& b) {
  return float_binary(a, b, complex_too([](auto x, auto y) { return quotient(x, y); }),
                      complex_too([](auto, auto y, auto, auto g) { return quotient(g, conjugate(y)); }),
                      complex_too([stored = StoredFactor(float_result_dtype({&a, &b}))](auto x, auto y, auto, auto g) {
                        return -g * stored(quotient(conjugate(stored(quotient(x, y))), conjugate(y)));
                      }));
}

Var add(const Var& a, double b) { return add(a, a.tape().number(b)); }
Var mul(const Var& a, double b) { return mul(a, a.tape().number(b)); }

Var neg(const Var& x) {
  if (x.dtype() == DType::boolean) throw SkipError("Negation of a bool tensor is not supported.");
  return unary_any(x, complex_too([](auto a) { return wrapping_neg(a); }),
                   complex_too([](auto, auto, auto g) { return -g; }));
}

Var square(const Var& x) {
  // The square of a bool is a number.
  if (x.dtype() == DType::boolean) return square(cast(x, DType::int64));
  return unary_any(x, complex_too([](auto a) { return wrapping_mul(a, a); }),
                   complex_too([stored = StoredFactor::of_half(x.dtype())](auto a, auto, auto g) {
                     return gradient_of_square(stored, a, g);
                   }));
}

Var abs(const Var& x) {
  if (is_complex(x.dtype())) return magnitude(x);
  return unary_any(
      x,
      [](auto a) {
        if constexpr (std::is_integral_v<decltype(a)>) {
          return a < 0 ? wrapping_neg(a) : a;
        } else {
          return std::abs(a);
        }
      },
      [](auto a, auto, auto g) { return a > 0   ? g
                                        : a < 0 ? -g
                                                : decltype(g){0}; });
}

Var sqrt(const Var& x) {
  return complex_unary(
      x, [](auto a) { return std::sqrt(a); },
      [](auto, auto y, auto g) { return quotient(g, conjugate(decltype(y){2} * y)); });
}

Var rsqrt(const Var& x) {
  return complex_unary(
      x, [](auto a) { return quotient(decltype(a){1}, std::sqrt(a)); },
      // Devices may halve the gradient first, which below the normal numbers costs it half a place.
      [stored = StoredFactor::of_half(x.dtype()), rough = x.context().jitter_seed != 0](auto, auto y, auto g) {
        const auto half = static_cast<decltype(g)>(-0.5);
        const auto cube = conjugate(stored(y * y * y));
        return rough ? stored(half * g) * cube : g * (half * cube);
      });
}

Var exp(const Var& x) {
  return complex_unary(
      x, [](auto a) { return exponential(a); }, [](auto, auto y, auto g) { return g * conjugate(y); });
}

Var log(const Var& x) {
  return complex_unary(
      x, [](auto a) { return logarithm(a); }, [](auto a, auto, auto g) { return quotient(g, conjugate(a)); });
}

OP("add(Operand input, Operand other, Scalar alpha=1)",
   [](const Bound& args) -> Value { return add_or_scaled(operands_of(args), args.real("alpha")); });
// The order of early versions, which torch still takes: the factor before what it multiplies.
OP("add(Operand input, Scalar alpha, Tensor other)",
   [](const Bound& args) -> Value { return add_or_scaled(operands_of(args), args.real("alpha")); });
NAMES("add", "Torch: add; Tensor: __add__ __iadd__ __radd__ add add_; Aten: add add_; Mint: add add_ex");
TRAITS("add", .complex = true);

OP("sub(Operand input, Operand other, Scalar alpha=1)",
   [](const Bound& args) -> Value { return subtract(operands_of(args), args.real("alpha")); });
OP("sub(Operand input, Scalar alpha, Tensor other)",
   [](const Bound& args) -> Value { return subtract(operands_of(args), args.real("alpha")); });
NAMES("sub",
      "Torch: sub subtract; Tensor: __isub__ __sub__ sub sub_ subtract subtract_; Aten: sub sub_ subtract "
      "subtract_; Mint: sub sub_ex");
TRAITS("sub", .complex = true);

OP("rsub(Operand input, Operand other, Scalar alpha=1)",
   [](const Bound& args) -> Value { return subtract(swapped(operands_of(args)), args.real("alpha")); });
NAMES("rsub", "Torch: rsub; Tensor: __rsub__; Aten: rsub");
TRAITS("rsub", .complex = true);

OP("mul(Operand input, Operand other)", [](const Bound& args) -> Value {
  const auto [a, b] = operands_of(args);
  return mul(a, b);
});
NAMES("mul",
      "Torch: mul multiply; Tensor: __imul__ __mul__ __rmul__ mul mul_ multiply multiply_; Aten: mul mul_ "
      "multiply multiply_; Mint: mul");
TRAITS("mul", .complex = true);

// The quotient is rounded to an integer, and by float division that may have been rounded before.
Steps rounds_quotient(const List& /*args*/, const Dict& /*kwargs*/) { return Steps::of_stored_difference; }

// The remainder is formed without the quotient: torch's kernels call fmod, for half types in float32.
Steps leaves_remainder(const List& /*args*/, const Dict& /*kwargs*/) { return Steps::of_float32; }

Steps asks_for_integers(const List& /*args*/, const Dict& kwargs) {
  for (const auto& [name, value] : kwargs) {
    if (name != "rounding_mode" || value.is_none()) continue;
    const auto* mode = value.template get<std::string>();
    return mode != nullptr && *mode == "trunc" ? Steps::of_stored : Steps::of_stored_difference;
  }
  return Steps::none;
}

OP("div(Operand input, Operand other, *, str? rounding_mode=None)",
   [](const Bound& args) -> Value { return div_rounding(operands_of(args), args.value("rounding_mode")); });
NAMES("div",
      "Torch: div divide true_divide; Tensor: __div__ __idiv__ __truediv__ div div_ divide divide_ true_divide "
      "true_divide_ __itruediv__; Aten: div div_ divide divide_ true_divide true_divide_; Mint: div divide");
TRAITS("div", .complex = true, .steps = asks_for_integers);

// As torch composes it: of half types the reciprocal is rounded, and may be infinite where the quotient is not.
Var reversed_div(const Var& dividend, const Var& divisor) { return mul(reciprocal(divisor), dividend); }

OP("rdiv(Operand input, Operand other)", [](const Bound& args) -> Value {
  const auto [divisor, dividend] = operands_of(args);
  return reversed_div(dividend, divisor);
});
NAMES("rdiv", "Tensor: __rdiv__ __rtruediv__");
TRAITS("rdiv", .complex = true);

OP("floor_divide(Operand input, Operand other)", binary_operator<floor_divide>);
NAMES("floor_divide",
      "Torch: floor_divide; Tensor: __floordiv__ __ifloordiv__ floor_divide floor_divide_; Aten: floor_divide "
      "floor_divide_");
TRAITS("floor_divide", .steps = rounds_quotient);

OP("rfloor_divide(Operand input, Operand other)", reversed_operator<floor_divide>);
NAMES("rfloor_divide", "Tensor: __rfloordiv__");
TRAITS("rfloor_divide", .steps = rounds_quotient);

OP("remainder(Operand input, Operand other)", binary_operator<remainder>);
NAMES("remainder",
      "Torch: remainder; Tensor: __imod__ __mod__ remainder remainder_; Aten: remainder remainder_; Mint: "
      "remainder");
TRAITS("remainder", .steps = leaves_remainder, .gradient_steps = Steps::of_stored_difference);

OP("rmod(Operand input, Operand other)", reversed_operator<remainder>);
NAMES("rmod", "Tensor: __rmod__");
TRAITS("rmod", .steps = leaves_remainder, .gradient_steps = Steps::of_stored_difference);

OP("fmod(Operand input, Operand other)", binary_operator<fmod>);
NAMES("fmod", "Torch: fmod; Tensor: fmod fmod_; Aten: fmod fmod_");
TRAITS("fmod", .steps = leaves_remainder, .gradient_steps = Steps::of_stored);

OP("neg(Tensor input)", unary_operator<neg>);
NAMES("neg",
      "Torch: neg neg_ negative negative_; Tensor: __neg__ neg neg_ negative negative_; Aten: neg neg_ negative "
      "negative_; Mint: neg negative");
TRAITS("neg", .complex = true);

OP("abs(Tensor input)", unary_operator<abs>);
NAMES("abs",
      "Torch: abs abs_ absolute; Tensor: __abs__ abs abs_ absolute absolute_; Aten: abs abs_ absolute absolute_; Mint: "
      "abs");
TRAITS("abs", .complex = true);

OP("square(Tensor input)", unary_operator<square>);
NAMES("square", "Torch: square square_; Tensor: square square_; Aten: square square_; Mint: square");
TRAITS("square", .complex = true);

OP("sqrt(Tensor input)", unary_operator<sqrt>);
NAMES("sqrt", "Torch: sqrt sqrt_; Tensor: sqrt sqrt_; Aten: sqrt sqrt_; Mint: sqrt sqrt_ex");
TRAITS("sqrt", .complex = true);

OP("rsqrt(Tensor input)", unary_operator<rsqrt>);
NAMES("rsqrt", "Torch: rsqrt rsqrt_; Tensor: rsqrt rsqrt_; Aten: rsqrt rsqrt_; Mint: rsqrt");
TRAITS("rsqrt", .autocast = AutocastPolicy::float32, .complex = true);

OP("reciprocal(Tensor input)", unary_operator<reciprocal>);
NAMES("reciprocal",
      "Torch: reciprocal reciprocal_; Tensor: reciprocal reciprocal_; Aten: reciprocal reciprocal_; Mint: "
      "reciprocal");
TRAITS("reciprocal", .autocast = AutocastPolicy::float32, .complex = true);

OP("exp(Tensor input)", unary_operator<exp>);
NAMES("exp", "Torch: exp exp_; Tensor: exp exp_; Aten: exp exp_; Mint: exp");
TRAITS("exp", .autocast = AutocastPolicy::float32, .complex = true, .element_work = 1.5);

OP("log(Tensor input)", unary_operator<log>);
NAMES("log", "Torch: log log_; Tensor: log log_; Aten: log log_; Mint: log");
TRAITS("log", .autocast = AutocastPolicy::float32, .complex = true);

OP("addcmul(Tensor input, Operand tensor1, Operand tensor2, *, Scalar value=1)", [](const Bound& args) -> Value {
  return addcmul(args.var("input"), args.var("tensor1"), args.var("tensor2"), args.real("value"));
});
OP("addcmul(Tensor input, Scalar value, Tensor tensor1, Tensor tensor2)", [](const Bound& args) -> Value {
  return addcmul(args.var("input"), args.var("tensor1"), args.var("tensor2"), args.real("value"));
});
NAMES("addcmul", "Torch: addcmul; Tensor: addcmul addcmul_; Aten: addcmul addcmul_");
TRAITS("addcmul", .complex = true);

OP("addcdiv(Tensor input, Operand tensor1, Operand tensor2, *, Scalar value=1)", [](const Bound& args) -> Value {
  return addcdiv(args.var("input"), args.var("tensor1"), args.var("tensor2"), args.real("value"));
});
OP("addcdiv(Tensor input, Scalar value, Tensor tensor1, Tensor tensor2)", [](const Bound& args) -> Value {
  return addcdiv(args.var("input"), args.var("tensor1"), args.var("tensor2"), args.real("value"));
});
NAMES("addcdiv", "Torch: addcdiv; Tensor: addcdiv addcdiv_; Aten: addcdiv addcdiv_");
TRAITS("addcdiv", .complex = true);

OP("lerp(Tensor input, Tensor end, Operand weight)",
   [](const Bound& args) -> Value { return lerp(args.var("input"), args.var("end"), args.var("weight")); });
NAMES("lerp", "Torch: lerp; Tensor: lerp lerp_; Aten: lerp lerp_");

}  // namespace msrun
