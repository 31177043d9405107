// The rarer functions of two operands (api_inventory.md section 3, elementwise binary).
#include <cmath>
#include <numbers>

#include "kernels/base/error.h"
#include "kernels/numeric/exponential.h"
#include "kernels/numeric/logarithm.h"
#include "kernels/numeric/roughness.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/numbers.h"
#include "kernels/ops/common/operator_forms.h"
#include "kernels/ops/common/own_steps.h"
#include "kernels/ops/common/stored_factor.h"

namespace msrun {
namespace {

Var atan2(const Var& a, const Var& b) {
  // What both gradients are multiplied by, the reciprocal of the squares, is stored as the squares are.
  const auto slope = [stored = StoredFactor::of_half(float_result_dtype({&a, &b})), of_a = OwnStep(a),
                      of_b = OwnStep(b), rough = a.context().jitter_seed != 0](auto numerator, auto y, auto x, auto g) {
    using T = decltype(x);
    const T squares = stored(of_a(y * y) + of_b(x * x));
    if (!stored.keeps(squares) || !stored.keeps(T{1} / squares) || (rough && !stored.keeps(g * numerator)))
      return rough ? stored(g * numerator) * stored(T{1} / squares) : g * (numerator * stored(T{1} / squares));
    return rough ? g * numerator * (T{1} / squares) : g * (numerator / squares);
  };
  return float_binary(
      a, b, [](auto y, auto x) { return std::atan2(y, x); },
      [slope](auto y, auto x, auto, auto g) { return slope(x, y, x, g); },
      [slope](auto y, auto x, auto, auto g) { return slope(-y, y, x, g); });
}

// A product with a gradient that is next to nothing loses its digits below the normal numbers, which a division by what
// is small as well makes large: devices may multiply first.
Var hypot(const Var& a, const Var& b) {
  const auto slope = [stored = StoredFactor::of_half(float_result_dtype({&a, &b})),
                      rough = a.context().jitter_seed != 0](auto x, auto z, auto g) {
    return rough ? stored(g * x) / z : g * stored(x / z);
  };
  return float_binary(
      a, b, [](auto x, auto y) { return std::hypot(x, y); },
      [slope](auto x, auto, auto z, auto g) { return slope(x, z, g); },
      [slope](auto, auto y, auto z, auto g) { return slope(y, z, g); });
}

// x * log(y), 0 for x = 0 whatever the logarithm.
template <class T, class F>
T times_logarithm(T x, T y, F logarithm_of) {
  if (is_nan(y)) return y;
  return x == 0 ? T{0} : x * logarithm_of(y);
}

// Whether 0 log y has no slope along its first argument: where the logarithm is -inf or no number. A Python number that
// is NaN counts as one of these, and a tensor's element does not.
template <class T>
bool has_no_slope(T x, T y, T pole, bool is_number) {
  return x == 0 && (is_number ? !(y > pole) : y <= pole);
}

Var xlogy(const Var& a, const Var& b) {
  return float_binary(
      a, b, [](auto x, auto y) { return times_logarithm(x, y, [](auto v) { return logarithm(v); }); },
      [number = b.is_number()](auto x, auto y, auto, auto g) {
        if (has_no_slope(x, y, decltype(x){0}, number)) return decltype(g){0};
        return times_logarithm(g, y, [](auto v) { return logarithm(v); });
      },
      [stored = StoredFactor::of_half(float_result_dtype({&a, &b}))](auto x, auto y, auto, auto g) {
        return stored(g * x) / y;
      });
}

Var xlog1py(const Var& a, const Var& b) {
  return float_binary(
      a, b, [](auto x, auto y) { return times_logarithm(x, y, [](auto v) { return logarithm_of_one_plus(v); }); },
      [number = b.is_number()](auto x, auto y, auto, auto g) {
        if (has_no_slope(x, y, decltype(x){-1}, number)) return decltype(g){0};
        return times_logarithm(g, y, [](auto v) { return logarithm_of_one_plus(v); });
      },
      [stored = StoredFactor::of_half(float_result_dtype({&a, &b}))](auto x, auto y, auto, auto g) {
        return stored(g * x) / (y + 1);
      });
}

// log(1 + x), for which devices may add 1 to a small x.
template <class T>
T logarithm_after_one(T x, std::uint32_t seed) {
  return seed != 0 ? static_cast<T>(logarithm(a_place_beside(T{1} + x, seed))) : logarithm_of_one_plus(x);
}

// 1 + f(x), of which a device may round both the argument, on which an exponential hangs the more the larger it is, and
// the sum before it goes on.
template <class T, class F>
T one_and(F f, T x, std::uint32_t seed) {
  return rough_step(T{1} + f(rough_step(x, seed)), seed);
}

// Infinities of the same sign have no difference, but a maximum.
Var logaddexp(const Var& a, const Var& b) {
  const auto slope = [stored = StoredFactor::of_half(float_result_dtype({&a, &b})),
                      seed = a.context().jitter_seed](auto difference) {
    return stored(one_and([](auto x) { return exponential(x); }, difference, seed));
  };
  return float_binary(
      a, b,
      [seed = a.context().jitter_seed](auto x, auto y) {
        if (std::isinf(x) && x == y) return x;
        return (x > y ? x : y) + logarithm_after_one(exponential(-std::abs(x - y)), seed);
      },
      [slope](auto x, auto y, auto, auto g) { return g / slope(y - x); },
      [slope](auto x, auto y, auto, auto g) { return g / slope(x - y); });
}

Var logaddexp2(const Var& a, const Var& b) {
  const auto slope = [stored = StoredFactor::of_half(float_result_dtype({&a, &b})),
                      seed = a.context().jitter_seed](auto difference) {
    return stored(one_and([](auto x) { return std::exp2(x); }, difference, seed));
  };
  return float_binary(
      a, b,
      [seed = a.context().jitter_seed](auto x, auto y) {
        using T = decltype(x);
        if (std::isinf(x) && x == y) return x;
        return (x > y ? x : y) +
               logarithm_after_one(std::exp2(-std::abs(x - y)), seed) * static_cast<T>(std::numbers::log2e);
      },
      [slope](auto x, auto y, auto, auto g) { return g / slope(y - x); },
      [slope](auto x, auto y, auto, auto g) { return g / slope(x - y); });
}

Var copysign(const Var& a, const Var& b) {
  return float_binary(
      a, b, [](auto x, auto y) { return std::copysign(x, y); },
      // result / x, so that neither an infinity nor NaN has a slope.
      [](auto x, auto, auto z, auto g) { return x == 0 ? decltype(g){0} : g * (z / x); },
      [](auto, auto, auto, auto g) { return decltype(g){0}; });
}

Var ldexp(const Var& a, const Var& b) {
  // Frameworks may have a power for every element of the result, and add up in the gradient of an exponent what they
  // have multiplied by its slope, which is rounded once more than their sum times the slope.
  const Var exponent = a.context().jitter_seed == 0 ? b : expand(b, broadcast_shapes(a.shape(), b.shape()));
  const Var power = unary(
      exponent, [](auto e) { return std::exp2(e); },
      [](auto, auto y, auto g) { return g * y * static_cast<decltype(g)>(std::numbers::ln2); });
  return mul(a, power);
}

Var heaviside(const Var& a, const Var& b) {
  const DType dtype = result_dtype({&a, &b});
  return a.tape().constant(map_as(compute_of(dtype), dtype, a.tensor(), b.tensor(), [](auto x, auto y) {
    using T = decltype(x);
    return x == 0 ? y : x > 0 ? T{1} : T{0};
  }));
}

Var nextafter(const Var& a, const Var& b) {
  const DType dtype = float_result_dtype({&a, &b});
  if (dtype != DType::float32 && dtype != DType::float64)
    throw SkipError("nextafter needs float32 or float64 tensors.");
  return a.tape().constant(map(dtype, a.tensor(), b.tensor(), [](auto x, auto y) { return std::nextafter(x, y); }));
}

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

std::uint64_t common_divisor(std::uint64_t a, std::uint64_t b) {
  while (b != 0) {
    const std::uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

template <class F>
Var integer_binary(const Var& a, const Var& b, F f) {
  const DType dtype = result_dtype({&a, &b});
  if (!is_integer(dtype)) throw SkipError("gcd and lcm need integer tensors.");
  const auto [first, second] = as_recorded(a, b);
  return a.tape().constant(map_as(Compute::int64, dtype, first.tensor(), second.tensor(), [f](auto x, auto y) {
    using T = decltype(x);
    return static_cast<T>(f(magnitude(static_cast<std::int64_t>(x)), magnitude(static_cast<std::int64_t>(y))));
  }));
}

Var gcd(const Var& a, const Var& b) { return integer_binary(a, b, common_divisor); }

Var lcm(const Var& a, const Var& b) {
  return integer_binary(a, b, [](std::uint64_t x, std::uint64_t y) {
    const std::uint64_t divisor = common_divisor(x, y);
    return divisor == 0 ? 0 : x / divisor * y;
  });
}

}  // namespace

OP("atan2(Tensor input, Tensor other)", binary_operator<atan2>);
NAMES("atan2",
      "Torch: arctan2 atan2; Tensor: arctan2 arctan2_ atan2 atan2_; Aten: arctan2 arctan2_ atan2 atan2_; Mint: "
      "arctan2 atan2");
TRAITS("atan2", .element_work = 6);

OP("hypot(Tensor input, Tensor other)", binary_operator<hypot>);
NAMES("hypot", "Torch: hypot; Tensor: hypot hypot_; Aten: hypot hypot_");

OP("xlogy(Operand input, Operand other)", binary_operator<xlogy>);
NAMES("xlogy", "Torch: xlogy xlogy_; Tensor: xlogy xlogy_; Aten: xlogy xlogy_; Mint: xlogy");

OP("special_xlog1py(Operand input, Operand other)", binary_operator<xlog1py>);
NAMES("special_xlog1py", "Aten: special_xlog1py");

OP("logaddexp(Tensor input, Tensor other)", binary_operator<logaddexp>);
NAMES("logaddexp", "Torch: logaddexp; Tensor: logaddexp; Aten: logaddexp; Mint: logaddexp");

OP("logaddexp2(Tensor input, Tensor other)", binary_operator<logaddexp2>);
NAMES("logaddexp2", "Torch: logaddexp2; Tensor: logaddexp2; Aten: logaddexp2");

OP("copysign(Tensor input, Operand other)", binary_operator<copysign>);
NAMES("copysign", "Torch: copysign; Tensor: copysign copysign_; Aten: copysign copysign_");

OP("ldexp(Tensor input, Operand other)", binary_operator<ldexp>);
NAMES("ldexp", "Torch: ldexp ldexp_; Tensor: ldexp ldexp_");

OP("heaviside(Tensor input, Tensor values)",
   [](const Bound& args) -> Value { return heaviside(args.var("input"), args.var("values")); });
NAMES("heaviside", "Torch: heaviside; Tensor: heaviside heaviside_; Aten: heaviside heaviside_");

OP("nextafter(Tensor input, Tensor other)", binary_operator<nextafter>);
NAMES("nextafter", "Torch: nextafter; Tensor: nextafter nextafter_; Aten: nextafter nextafter_");

OP("gcd(Tensor input, Tensor other)", binary_operator<gcd>);
NAMES("gcd", "Torch: gcd gcd_; Tensor: gcd gcd_; Aten: gcd gcd_");

OP("lcm(Tensor input, Tensor other)", binary_operator<lcm>);
NAMES("lcm", "Torch: lcm lcm_; Tensor: lcm lcm_; Aten: lcm lcm_");

}  // namespace msrun
