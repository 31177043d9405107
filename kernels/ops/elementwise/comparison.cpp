// Comparisons, logical and bitwise operators: nothing here has a gradient.
#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/fitting_numbers.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/numbers.h"
#include "kernels/ops/common/operator_forms.h"

namespace msrun {
namespace {

template <class T>
bool is_true(T value) {
  return value != T{0};
}

// Whether the value, or both parts of a complex one, is neither infinite nor NaN.
template <class T>
bool is_finite(T value) {
  if constexpr (is_complex_number<T>) {
    return std::isfinite(value.real()) && std::isfinite(value.imag());
  } else {
    return std::isfinite(value);
  }
}

// A predicate of operands that are first converted to the dtype in which they are compared.
template <class F>
Var comparison(const Var& a, const Var& b, F f) {
  const auto [x, y] = as_recorded(a, b);
  return predicate(x, y, f);
}

Var eq(const Var& a, const Var& b) {
  return comparison(a, b, complex_too([](auto x, auto y) { return x == y; }));
}
Var ne(const Var& a, const Var& b) {
  return comparison(a, b, complex_too([](auto x, auto y) { return x != y; }));
}
Var lt(const Var& a, const Var& b) {
  return comparison(a, b, [](auto x, auto y) { return x < y; });
}
Var le(const Var& a, const Var& b) {
  return comparison(a, b, [](auto x, auto y) { return x <= y; });
}
Var gt(const Var& a, const Var& b) {
  return comparison(a, b, [](auto x, auto y) { return x > y; });
}
Var ge(const Var& a, const Var& b) {
  return comparison(a, b, [](auto x, auto y) { return x >= y; });
}
Var logical_and(const Var& a, const Var& b) {
  return comparison(a, b, complex_too([](auto x, auto y) { return is_true(x) && is_true(y); }));
}
Var logical_or(const Var& a, const Var& b) {
  return comparison(a, b, complex_too([](auto x, auto y) { return is_true(x) || is_true(y); }));
}
Var logical_xor(const Var& a, const Var& b) {
  return comparison(a, b, complex_too([](auto x, auto y) { return is_true(x) != is_true(y); }));
}

template <class F>
Var unary_predicate(const Var& x, F f) {
  return x.tape().constant(map_as(compute_of(x.dtype()), DType::boolean, x.tensor(), f));
}

Var logical_not(const Var& x) {
  return unary_predicate(x, complex_too([](auto a) { return !is_true(a); }));
}
Var isnan(const Var& x) {
  return unary_predicate(x, complex_too([](auto a) { return is_nan(a); }));
}
Var isinf(const Var& x) {
  return unary_predicate(x, complex_too([](auto a) {
                           if constexpr (std::is_integral_v<decltype(a)>) {
                             return false;
                           } else if constexpr (is_complex_number<decltype(a)>) {
                             return std::isinf(a.real()) || std::isinf(a.imag());
                           } else {
                             return std::isinf(a);
                           }
                         }));
}
Var isfinite(const Var& x) {
  return unary_predicate(x, complex_too([](auto a) {
                           if constexpr (std::is_integral_v<decltype(a)>) {
                             return true;
                           } else {
                             return is_finite(a);
                           }
                         }));
}
Var isposinf(const Var& x) {
  return unary_predicate(x, [](auto a) {
    if constexpr (std::is_integral_v<decltype(a)>) {
      return false;
    } else {
      return std::isinf(a) && a > 0;
    }
  });
}
Var isneginf(const Var& x) {
  return unary_predicate(x, [](auto a) {
    if constexpr (std::is_integral_v<decltype(a)>) {
      return false;
    } else {
      return std::isinf(a) && a < 0;
    }
  });
}
Var isreal(const Var& x) {
  return unary_predicate(x, complex_too([](auto a) {
                           if constexpr (is_complex_number<decltype(a)>) {
                             return a.imag() == 0;
                           } else {
                             return true;
                           }
                         }));
}
Var signbit(const Var& x) {
  return unary_predicate(x, [](auto a) {
    if constexpr (std::is_integral_v<decltype(a)>) {
      return a < 0;
    } else {
      return std::signbit(a);
    }
  });
}

DType bitwise_dtype(const Var& a, const Var& b) {
  const DType dtype = result_dtype({&a, &b});
  if (is_floating(dtype) || is_complex(dtype)) throw SkipError("Bitwise operators need integer or bool tensors.");
  return dtype;
}

template <class F>
Var bitwise(const Var& a, const Var& b, F f) {
  const DType dtype = bitwise_dtype(a, b);
  return a.tape().constant(map_as(Compute::int64, dtype, a.tensor(), b.tensor(), [f](auto x, auto y) {
    return static_cast<decltype(x)>(f(static_cast<std::int64_t>(x), static_cast<std::int64_t>(y)));
  }));
}

Var bitwise_and(const Var& a, const Var& b) {
  return bitwise(a, b, [](std::int64_t x, std::int64_t y) { return x & y; });
}
Var bitwise_or(const Var& a, const Var& b) {
  return bitwise(a, b, [](std::int64_t x, std::int64_t y) { return x | y; });
}
Var bitwise_xor(const Var& a, const Var& b) {
  return bitwise(a, b, [](std::int64_t x, std::int64_t y) { return x ^ y; });
}

Var bitwise_not(const Var& x) {
  if (x.dtype() == DType::boolean) return logical_not(x);
  return bitwise(x, x, [](std::int64_t a, std::int64_t) { return ~a; });
}

// Number of bits by which elements of dtype can be shifted before nothing is left.
std::int64_t shift_limit(DType dtype) {
  return dtype == DType::boolean ? 1 : static_cast<std::int64_t>(8 * size_of(dtype));
}

// Floats are multiplied by a power of two. An amount that is negative or not below the width gives 0.
Var left_shift(const Var& a, const Var& b) {
  const DType dtype = result_dtype({&a, &b});
  if (is_floating(dtype)) {
    return a.tape().constant(map(dtype, a.tensor(), b.tensor(), [](auto x, auto y) { return x * std::exp2(y); }));
  }
  return bitwise(a, as_recorded(b, dtype), [limit = shift_limit(dtype)](std::int64_t x, std::int64_t y) {
    const bool fits = y >= 0 && y < limit;
    return fits ? static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << y) : std::int64_t{0};
  });
}

// Arithmetic; an amount that is negative or not below the width leaves the sign.
Var right_shift(const Var& a, const Var& b) {
  const DType dtype = result_dtype({&a, &b});
  if (is_floating(dtype)) {
    return a.tape().constant(map(dtype, a.tensor(), b.tensor(), [](auto x, auto y) { return x / std::exp2(y); }));
  }
  const auto [shifted, amount] = as_recorded(a, b);
  return bitwise(shifted, amount, [limit = shift_limit(dtype)](std::int64_t x, std::int64_t y) {
    return x >> (y >= 0 && y < limit ? y : std::min<std::int64_t>(limit, 63));
  });
}

Var isclose(const Var& a, const Var& b, double rtol, double atol, bool equal_nan) {
  if (rtol < 0 || atol < 0) throw SkipError("isclose: rtol and atol must not be negative.");
  Compute compute = compute_of(result_dtype({&a, &b}));
  if (compute == Compute::int64) compute = Compute::float64;
  return a.tape().constant(map_as(
      compute, DType::boolean, a.tensor(), b.tensor(), floats_only(complex_too([rtol, atol, equal_nan](auto x, auto y) {
        using T = decltype(std::abs(x));
        if (equal_nan && is_nan(x) && is_nan(y)) return true;
        const T distance = std::abs(x - y);
        return x == y ||
               (std::isfinite(distance) && distance <= static_cast<T>(atol) + std::abs(static_cast<T>(rtol) * y));
      }))));
}

bool all_true(const Var& x) {
  const Tensor marks = x.tensor().contiguous();
  const bool* first = marks.data<bool>();
  return std::find(first, first + marks.numel(), false) == first + marks.numel();
}

// Whether each element is among the test elements; NaN never is.
Var isin(const Var& elements, const Var& candidates, bool invert) {
  const Compute compute = compute_of(result_dtype({&elements, &candidates}));
  const auto recorded = as_recorded(elements, candidates);
  const auto search = [&](auto zero, DType dtype) {
    using T = decltype(zero);
    const Tensor values = recorded.first.tensor().to(dtype).contiguous();
    const Tensor list = recorded.second.tensor().to(dtype).contiguous();
    std::vector<T> sorted(list.data<T>(), list.data<T>() + list.numel());
    std::erase_if(sorted, [](T value) { return is_nan(value); });
    std::sort(sorted.begin(), sorted.end());
    Tensor result(DType::boolean, values.shape());
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      const T value = values.data<T>()[i];
      const bool found = !is_nan(value) && std::binary_search(sorted.begin(), sorted.end(), value);
      result.mutable_data<bool>()[i] = found != invert;
    }
    return elements.tape().constant(result);
  };
  if (is_complex(elements.dtype()) || is_complex(candidates.dtype())) {
    throw SkipError("Complex tensors are not supported by this operator.");
  }
  return compute == Compute::int64 ? search(std::int64_t{}, DType::int64) : search(double{}, DType::float64);
}

}  // namespace

OP("eq(Operand input, Operand other)", binary_operator<eq>);
NAMES("eq", "Torch: eq; Tensor: __eq__ eq eq_; Aten: eq eq_; Mint: eq");
TRAITS("eq", .complex = true, .fit = fit_equal_elements);

OP("ne(Operand input, Operand other)", binary_operator<ne>);
NAMES("ne",
      "Torch: ne not_equal; Tensor: __ne__ ne ne_ not_equal not_equal_; Aten: ne ne_ not_equal not_equal_; Mint: ne");
TRAITS("ne", .complex = true, .fit = fit_equal_elements);

OP("lt(Operand input, Operand other)", binary_operator<lt>);
NAMES("lt", "Torch: less lt; Tensor: __lt__ less less_ lt lt_; Aten: less less_ lt lt_; Mint: less lt");
TRAITS("lt", .fit = fit_equal_elements);

OP("le(Operand input, Operand other)", binary_operator<le>);
NAMES("le",
      "Torch: le less_equal; Tensor: __le__ le le_ less_equal less_equal_; Aten: le le_ less_equal less_equal_; Mint: "
      "le less_equal");
TRAITS("le", .fit = fit_equal_elements);

OP("gt(Operand input, Operand other)", binary_operator<gt>);
NAMES("gt",
      "Torch: greater gt; Tensor: __gt__ greater greater_ gt gt_; Aten: greater greater_ gt gt_; Mint: greater gt");
TRAITS("gt", .fit = fit_equal_elements);

OP("ge(Operand input, Operand other)", binary_operator<ge>);
NAMES("ge",
      "Torch: ge greater_equal; Tensor: __ge__ ge ge_ greater_equal greater_equal_; Aten: ge ge_ greater_equal "
      "greater_equal_; Mint: greater_equal");
TRAITS("ge", .fit = fit_equal_elements);

OP("logical_and(Operand input, Operand other)", binary_operator<logical_and>);
NAMES("logical_and",
      "Torch: logical_and; Tensor: logical_and logical_and_; Aten: logical_and logical_and_; Mint: logical_and");
TRAITS("logical_and", .complex = true);

OP("logical_or(Operand input, Operand other)", binary_operator<logical_or>);
NAMES("logical_or",
      "Torch: logical_or; Tensor: logical_or logical_or_; Aten: logical_or logical_or_; Mint: logical_or");
TRAITS("logical_or", .complex = true);

OP("logical_xor(Operand input, Operand other)", binary_operator<logical_xor>);
NAMES("logical_xor",
      "Torch: logical_xor; Tensor: logical_xor logical_xor_; Aten: logical_xor logical_xor_; Mint: logical_xor");
TRAITS("logical_xor", .complex = true);

// Python's == and != with None compare identities.
OP("eq(Tensor input, any other)", [](const Bound& args) -> Value {
  if (args.given("other")) throw SkipError("eq(): argument 'other' must be a tensor or a number.");
  return false;
});
OP("ne(Tensor input, any other)", [](const Bound& args) -> Value {
  if (args.given("other")) throw SkipError("ne(): argument 'other' must be a tensor or a number.");
  return true;
});

OP("logical_not(Tensor input)", unary_operator<logical_not>);
NAMES("logical_not",
      "Torch: logical_not; Tensor: logical_not logical_not_; Aten: logical_not logical_not_; Mint: logical_not");
TRAITS("logical_not", .complex = true);

OP("isnan(Tensor input)", unary_operator<isnan>);
NAMES("isnan", "Torch: isnan; Tensor: isnan; Aten: isnan");
TRAITS("isnan", .complex = true);

OP("isinf(Tensor input)", unary_operator<isinf>);
NAMES("isinf", "Torch: isinf; Tensor: isinf; Aten: isinf");
TRAITS("isinf", .complex = true);

OP("isfinite(Tensor input)", unary_operator<isfinite>);
NAMES("isfinite", "Torch: isfinite; Tensor: isfinite; Mint: isfinite");
TRAITS("isfinite", .complex = true);

OP("isposinf(Tensor input)", unary_operator<isposinf>);
NAMES("isposinf", "Torch: isposinf; Tensor: isposinf; Aten: isposinf");

OP("isneginf(Tensor input)", unary_operator<isneginf>);
NAMES("isneginf", "Torch: isneginf; Tensor: isneginf; Aten: isneginf");

OP("isreal(Tensor input)", unary_operator<isreal>);
NAMES("isreal", "Tensor: isreal");
TRAITS("isreal", .complex = true);

OP("signbit(Tensor input)", unary_operator<signbit>);
NAMES("signbit", "Torch: signbit; Tensor: signbit; Aten: signbit");

OP("bitwise_and(Operand input, Operand other)", binary_operator<bitwise_and>);
NAMES("bitwise_and",
      "Torch: bitwise_and; Tensor: __and__ __iand__ bitwise_and bitwise_and_; Aten: __and__ __iand__ "
      "bitwise_and bitwise_and_; Mint: bitwise_and");

OP("bitwise_or(Operand input, Operand other)", binary_operator<bitwise_or>);
NAMES("bitwise_or",
      "Torch: bitwise_or; Tensor: __ior__ __or__ __ror__ bitwise_or bitwise_or_; Aten: __ior__ __or__ "
      "bitwise_or bitwise_or_; Mint: bitwise_or");

OP("bitwise_xor(Operand input, Operand other)", binary_operator<bitwise_xor>);
NAMES("bitwise_xor",
      "Torch: bitwise_xor; Tensor: __ixor__ __rxor__ __xor__ bitwise_xor bitwise_xor_; Aten: __ixor__ __xor__ "
      "bitwise_xor bitwise_xor_; Mint: bitwise_xor");

OP("bitwise_not(Tensor input)", unary_operator<bitwise_not>);
NAMES("bitwise_not", "Torch: bitwise_not; Tensor: bitwise_not bitwise_not_ __invert__; Aten: bitwise_not bitwise_not_");

OP("bitwise_left_shift(Operand input, Operand other)", binary_operator<left_shift>);
NAMES("bitwise_left_shift",
      "Torch: bitwise_left_shift; Tensor: __ilshift__ __lshift__ bitwise_left_shift bitwise_left_shift_; Aten: "
      "__ilshift__ __lshift__ bitwise_left_shift bitwise_left_shift_");

OP("bitwise_right_shift(Operand input, Operand other)", binary_operator<right_shift>);
NAMES("bitwise_right_shift",
      "Torch: bitwise_right_shift; Tensor: __irshift__ __rshift__ bitwise_right_shift bitwise_right_shift_; "
      "Aten: __irshift__ __rshift__ bitwise_right_shift bitwise_right_shift_");

OP("isclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False)",
   [](const Bound& args) -> Value {
     return isclose(args.var("input"), args.var("other"), args.real("rtol"), args.real("atol"), args.flag("equal_nan"));
   });
NAMES("isclose", "Torch: isclose; Tensor: isclose; Mint: isclose");
TRAITS("isclose", .complex = true, .fit = fit_equal_elements);

OP("allclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False)",
   [](const Bound& args) -> Value {
     return all_true(
         isclose(args.var("input"), args.var("other"), args.real("rtol"), args.real("atol"), args.flag("equal_nan")));
   });
NAMES("allclose", "Torch: allclose; Tensor: allclose");
TRAITS("allclose", .complex = true);

OP("equal(Tensor input, Tensor other)", [](const Bound& args) -> Value {
  const Var a = args.var("input");
  const Var b = args.var("other");
  return a.shape() == b.shape() && all_true(eq(a, b));
});
NAMES("equal", "Torch: equal; Tensor: equal");
TRAITS("equal", .complex = true);

OP("isin(Operand elements, Operand test_elements, *, bool assume_unique=False, bool invert=False)",
   [](const Bound& args) -> Value {
     return isin(args.var("elements"), args.var("test_elements"), args.flag("invert"));
   });
OP("isin(Operand elements, Operand test_element, *, bool assume_unique=False, bool invert=False)",
   [](const Bound& args) -> Value {
     return isin(args.var("elements"), args.var("test_element"), args.flag("invert"));
   });
OP("isin(Operand element, Operand test_elements, *, bool assume_unique=False, bool invert=False)",
   [](const Bound& args) -> Value {
     return isin(args.var("element"), args.var("test_elements"), args.flag("invert"));
   });
NAMES("isin", "Torch: isin");

}  // namespace msrun
