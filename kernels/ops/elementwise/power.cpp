// Powers, and the edge rules of their gradients (api_inventory.md section 3, pow).
#include <cmath>

#include "kernels/base/error.h"
#include "kernels/numeric/complex_numbers.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/numbers.h"
#include "kernels/ops/common/operator_forms.h"
#include "kernels/ops/common/own_steps.h"
#include "kernels/ops/common/real_power.h"
#include "kernels/ops/common/stored_factor.h"

namespace msrun {
namespace {

// Integer powers wrap; a negative exponent leaves the truncated reciprocal, 0 unless the base is 1 or -1.
template <class T>
T power(T base, T exponent) {
  if constexpr (std::is_integral_v<T>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      if (base == -1) return (exponent & 1) != 0 ? -1 : 1;
      return 0;
    }
    T result = 1;
    for (; exponent != 0; exponent >>= 1) {
      if ((exponent & 1) != 0) result = wrapping_mul(result, base);
      base = wrapping_mul(base, base);
    }
    return result;
  } else if constexpr (is_complex_number<T>) {
    return complex_power(base, exponent);
  } else {
    return std::pow(base, exponent);
  }
}

Var cube(const Var& x) {
  return complex_unary(
      x, [](auto a) { return a * a * a; },
      [stored = StoredFactor::of_half(x.dtype())](auto a, auto, auto g) {
        const auto slope = decltype(a){3} * a * a;
        return stored.keeps(slope) ? decltype(g){3} * g * conjugate(a) * conjugate(a) : g * stored(slope);
      });
}

Var power_of_operands(const Var& base, const Var& exponent) {
  const DType dtype = result_dtype({&base, &exponent});
  if (exponent.is_number()) {
    if (is_floating(dtype) || is_complex(dtype)) return pow(base, exponent.tensor().item());
    if (exponent.tensor().int_item() < 0) throw SkipError("Integers to negative integer powers are not allowed.");
  }
  const StoredFactor stored(dtype);
  const OwnStep of_base(base);
  const OwnStep of_exponent(exponent);
  return binary(base, is_integer(dtype) ? as_recorded(exponent, dtype) : exponent,
                complex_too([](auto x, auto p) { return power(x, p); }),
                complex_too([stored, of_exponent](auto x, auto p, auto, auto g) {
                  using T = decltype(x);
                  if (p == T{0}) return p * T{0};
                  return g * stored(conjugate(p) * conjugate(stored(power(x, of_exponent(p - T{1})))));
                }),
                complex_too([stored, of_base](auto x, auto p, auto z, auto g) {
                  using T = decltype(x);
                  if (x == T{0} && std::real(p) >= 0) return x * T{0};
                  return g * stored(conjugate(z) * conjugate(of_base(std::log(x))));
                }));
}

Var float_power(const Var& base, const Var& exponent) {
  const auto wide = [](const Var& x) { return cast(x, is_complex(x.dtype()) ? DType::complex128 : DType::float64); };
  return power_of_operands(base.is_number() ? base : wide(base),
                           exponent.is_number() && !base.is_number() ? exponent : wide(exponent));
}

Value power_operator(const Bound& args) { return power_of_operands(args.var("input"), args.var("exponent")); }

}  // namespace

Var pow(const Var& x, double exponent) {
  if (exponent == 2)
    return complex_unary(
        x, [](auto a) { return a * a; },
        [stored = StoredFactor::of_half(x.dtype())](auto a, auto, auto g) { return gradient_of_square(stored, a, g); });
  if (exponent == 3) return cube(x);
  if (exponent == 0.5 && !x.context().gives_alternative()) return sqrt(x);
  return complex_unary(
      x, RealPower(x.context(), exponent),
      [exponent, lower = RealPower(x.context(), exponent - 1), stored = StoredFactor(x.dtype())](auto a, auto, auto g) {
        using T = decltype(a);
        const T slope = static_cast<T>(exponent) * conjugate(stored(lower(a)));
        return exponent == 0 ? T{0} : g * stored(slope);
      });
}

OP("pow(Operand input, Operand exponent)", power_operator);
OP("pow(Operand input, Operand other)", binary_operator<power_of_operands>);
NAMES("pow", "Torch: pow; Tensor: __ipow__ __pow__ pow pow_; Aten: pow pow_; Mint: pow");
TRAITS("pow", .autocast = AutocastPolicy::float32, .complex = true);

OP("rpow(Operand input, Operand other)", reversed_operator<power_of_operands>);
NAMES("rpow", "Tensor: __rpow__");
TRAITS("rpow", .complex = true);

OP("float_power(Operand input, Operand exponent)",
   [](const Bound& args) -> Value { return float_power(args.var("input"), args.var("exponent")); });
NAMES("float_power", "Torch: float_power; Tensor: float_power float_power_; Aten: float_power_");
TRAITS("float_power", .complex = true);

}  // namespace msrun
