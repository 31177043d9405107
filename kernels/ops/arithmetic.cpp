// Arithmetic on one, two and three operands.
#include <cmath>

#include "kernels/api/operators.h"
#include "kernels/error.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/functions.h"

namespace msrun {
namespace {

// x + alpha * y; bool + bool is a logical or.
Var scaled_add(const Var& a, const Var& b, double alpha) {
  if (result_dtype({&a, &b}) == DType::boolean) {
    return predicate(a, b, [](auto x, auto y) { return x != 0 || y != 0; });
  }
  return binary(
      a, b, [alpha](auto x, auto y) { return x + static_cast<decltype(x)>(alpha) * y; },
      [](auto, auto, auto, auto g) { return g; },
      [alpha](auto, auto, auto, auto g) { return static_cast<decltype(g)>(alpha) * g; });
}

// With alpha 1, the usual case, no product is rounded.
Var add_or_scaled(const Var& a, const Var& b, double alpha) { return alpha == 1 ? add(a, b) : scaled_add(a, b, alpha); }

Var subtract(const Var& a, const Var& b, double alpha) {
  if (a.dtype() == DType::boolean && b.dtype() == DType::boolean) {
    throw SkipError("Subtraction with bool tensors is not supported.");
  }
  return alpha == 1 ? sub(a, b) : scaled_add(a, b, -alpha);
}

}  // namespace

Var add(const Var& a, const Var& b) {
  if (result_dtype({&a, &b}) == DType::boolean) return scaled_add(a, b, 1);
  return binary(
      a, b, [](auto x, auto y) { return x + y; }, [](auto, auto, auto, auto g) { return g; },
      [](auto, auto, auto, auto g) { return g; });
}

Var sub(const Var& a, const Var& b) {
  return binary(
      a, b, [](auto x, auto y) { return x - y; }, [](auto, auto, auto, auto g) { return g; },
      [](auto, auto, auto, auto g) { return -g; });
}

Var mul(const Var& a, const Var& b) {
  return binary(
      a, b, [](auto x, auto y) { return x * y; }, [](auto, auto y, auto, auto g) { return g * y; },
      [](auto x, auto, auto, auto g) { return g * x; });
}

Var div(const Var& a, const Var& b) {
  return float_binary(
      a, b, [](auto x, auto y) { return x / y; }, [](auto, auto y, auto, auto g) { return g / y; },
      [](auto, auto y, auto z, auto g) { return -g * z / y; });
}

Var add(const Var& a, double b) { return add(a, a.tape().number(b)); }
Var mul(const Var& a, double b) { return mul(a, a.tape().number(b)); }

Var neg(const Var& x) {
  return binary(
      x, x.tape().number(std::int64_t{0}), [](auto a, auto) { return -a; }, [](auto, auto, auto, auto g) { return -g; },
      [](auto, auto, auto, auto g) { return g; });
}

OP("add(Operand input, Operand other, *, Scalar alpha=1)", [](const Bound& args) -> Value {
  return add_or_scaled(args.var("input"), args.var("other"), args.real("alpha"));
});
NAMES("add", "Torch: add; Tensor: add add_ __add__ __iadd__ __radd__; Aten: add add_; Mint: add");

OP("sub(Operand input, Operand other, *, Scalar alpha=1)", [](const Bound& args) -> Value {
  return subtract(args.var("input"), args.var("other"), args.real("alpha"));
});
NAMES("sub",
      "Torch: sub subtract; Tensor: sub sub_ subtract subtract_ __sub__ __isub__; Aten: sub sub_ subtract subtract_; "
      "Mint: sub");

OP("rsub(Operand input, Operand other, *, Scalar alpha=1)", [](const Bound& args) -> Value {
  return subtract(args.var("other"), args.var("input"), args.real("alpha"));
});
NAMES("rsub", "Torch: rsub; Tensor: __rsub__; Aten: rsub");

OP("mul(Operand input, Operand other)",
   [](const Bound& args) -> Value { return mul(args.var("input"), args.var("other")); });
NAMES("mul",
      "Torch: mul multiply; Tensor: mul mul_ multiply multiply_ __mul__ __imul__ __rmul__; Aten: mul mul_ multiply "
      "multiply_; Mint: mul");

}  // namespace msrun
