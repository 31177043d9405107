// Functions that pick one of their operands: extrema of two, clamp, where.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/numbers.h"
#include "kernels/ops/common/operator_forms.h"

namespace msrun {
namespace {

// z = f(a, b) for a function that picks one of its operands, which are first converted to the dtype in which they are
// compared.
template <class F, class VA, class VB>
Var picking(const Var& a, const Var& b, F f, VA vjp_a, VB vjp_b) {
  const auto [x, y] = as_recorded(a, b);
  return binary(x, y, f, vjp_a, vjp_b);
}

// Take the operand that is not NaN; ties go to the first.
Var fmax(const Var& a, const Var& b) {
  return picking(
      a, b, [](auto x, auto y) { return x >= y || is_nan(y) ? x : y; },
      [](auto x, auto y, auto, auto g) { return x >= y || is_nan(y) ? g : g * 0; },
      [](auto x, auto y, auto, auto g) { return x >= y || is_nan(y) ? g * 0 : g; });
}

Var fmin(const Var& a, const Var& b) {
  return picking(
      a, b, [](auto x, auto y) { return x <= y || is_nan(y) ? x : y; },
      [](auto x, auto y, auto, auto g) { return x <= y || is_nan(y) ? g : g * 0; },
      [](auto x, auto y, auto, auto g) { return x <= y || is_nan(y) ? g * 0 : g; });
}

// Bounds may be tensors. low > high gives high everywhere; NaN anywhere gives NaN, but for a number that is the only
// bound: torch compares elements with it, and it bounds none.
Var clamp_to(const Var& x, const std::optional<Var>& low, const std::optional<Var>& high) {
  if (!low && !high) throw SkipError("clamp(): at least one of 'min' or 'max' must not be None.");
  DType dtype = low && high ? result_dtype({&x, &*low, &*high}) : result_dtype({&x, low ? &*low : &*high});
  Tape& tape = x.tape();
  const bool floating = is_floating(dtype);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr auto smallest = std::numeric_limits<std::int64_t>::min();
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  const Var lower = low ? as_recorded(*low, dtype) : floating ? tape.number(-infinity) : tape.number(smallest);
  const Var upper = high ? as_recorded(*high, dtype) : floating ? tape.number(infinity) : tape.number(largest);
  return ternary(
      dtype, as_recorded(x, dtype), lower, upper,
      [passes = !(low && high) && (low ? low : high)->is_number()](auto a, auto lo, auto hi) {
        const auto raised = a < lo || (is_nan(lo) && !passes) ? lo : a;
        return raised > hi || (is_nan(hi) && !passes) ? hi : raised;
      },
      [](auto a, auto lo, auto hi, auto g) { return a >= lo && a <= hi ? g : decltype(g){0}; },
      // Below two equal bounds neither has a gradient.
      [both = low && high](auto a, auto lo, auto hi, auto g) {
        return a < lo && (!both || lo < hi) ? g : decltype(g){0};
      },
      [](auto a, auto lo, auto hi, auto g) { return a > hi || hi < lo ? g : decltype(g){0}; });
}

// The coordinates of the non-zero elements in row-major order, one int64 vector per axis.
Value nonzero_columns(const Var& x) {
  const Tensor marks = x.tensor().to(DType::boolean).contiguous();
  const bool* mark = marks.data<bool>();
  const Dims shape = x.rank() == 0 ? Dims{1} : x.shape();
  const std::int64_t count = std::count(mark, mark + marks.numel(), true);
  std::vector<Tensor> columns;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) columns.emplace_back(DType::int64, Dims{count});
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < marks.numel(); ++i) {
    if (!mark[i]) continue;
    std::int64_t rest = i;
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
      columns[axis].mutable_data<std::int64_t>()[found] = rest % shape[axis];
    }
    ++found;
  }
  List result;
  for (const Tensor& column : columns) result.emplace_back(x.tape().constant(column));
  return result;
}

}  // namespace

// Where the operands are equal each gets half of the gradient; with a NaN operand both get all of it, as in torch.
Var maximum(const Var& a, const Var& b) {
  return picking(
      a, b, [](auto x, auto y) { return x >= y || is_nan(x) ? x : y; },
      [](auto x, auto y, auto, auto g) { return x == y  ? g / 2
                                                : x < y ? decltype(g){0}
                                                        : g; },
      [](auto x, auto y, auto, auto g) { return x == y  ? g / 2
                                                : y < x ? decltype(g){0}
                                                        : g; });
}

Var minimum(const Var& a, const Var& b) {
  return picking(
      a, b, [](auto x, auto y) { return x <= y || is_nan(x) ? x : y; },
      [](auto x, auto y, auto, auto g) { return x == y  ? g / 2
                                                : x > y ? decltype(g){0}
                                                        : g; },
      [](auto x, auto y, auto, auto g) { return x == y  ? g / 2
                                                : y > x ? decltype(g){0}
                                                        : g; });
}

Var clamp(const Var& x, std::optional<double> low, std::optional<double> high) {
  std::optional<Var> lower;
  std::optional<Var> upper;
  if (low) lower = x.tape().number(*low);
  if (high) upper = x.tape().number(*high);
  return clamp_to(x, lower, upper);
}

Var where(const Var& condition, const Var& x, const Var& y) {
  return ternary(result_dtype({&x, &y}), condition, x, y,
                 complex_too([](auto c, auto a, auto b) { return c != decltype(c){0} ? a : b; }),
                 complex_too([](auto, auto, auto, auto g) { return decltype(g){0}; }),
                 complex_too([](auto c, auto, auto, auto g) { return c != decltype(c){0} ? g : decltype(g){0}; }),
                 complex_too([](auto c, auto, auto, auto g) { return c != decltype(c){0} ? decltype(g){0} : g; }));
}

OP("maximum(Tensor input, Tensor other)", binary_operator<maximum>);
NAMES("maximum", "Torch: maximum; Tensor: maximum; Aten: maximum; Mint: maximum");

OP("minimum(Tensor input, Tensor other)", binary_operator<minimum>);
NAMES("minimum", "Torch: minimum; Tensor: minimum; Aten: minimum; Mint: minimum");

OP("fmax(Tensor input, Tensor other)", binary_operator<fmax>);
NAMES("fmax", "Torch: fmax; Tensor: fmax; Aten: fmax");

OP("fmin(Tensor input, Tensor other)", binary_operator<fmin>);
NAMES("fmin", "Torch: fmin; Tensor: fmin; Aten: fmin");

OP("clamp(Tensor input, Operand? min=None, Operand? max=None)", [](const Bound& args) -> Value {
  return clamp_to(args.var("input"), args.optional_var("min"), args.optional_var("max"));
});
NAMES("clamp",
      "Torch: clamp clamp_ clip clip_; Tensor: clamp clamp_ clip clip_; Aten: clamp clamp_ clip clip_; Mint: "
      "clamp");

OP("clamp_min(Tensor input, Operand min)",
   [](const Bound& args) -> Value { return clamp_to(args.var("input"), args.var("min"), std::nullopt); });
NAMES("clamp_min", "Torch: clamp_min clamp_min_; Tensor: clamp_min clamp_min_; Aten: clamp_min clamp_min_");

OP("clamp_max(Tensor input, Operand max)",
   [](const Bound& args) -> Value { return clamp_to(args.var("input"), std::nullopt, args.var("max")); });
NAMES("clamp_max", "Torch: clamp_max clamp_max_; Tensor: clamp_max clamp_max_; Aten: clamp_max clamp_max_");

OP("where(Tensor condition, Operand input, Operand other)",
   [](const Bound& args) -> Value { return where(args.var("condition"), args.var("input"), args.var("other")); });
OP("where(Tensor condition, Operand self, Operand other)",
   [](const Bound& args) -> Value { return where(args.var("condition"), args.var("self"), args.var("other")); });
OP("where(Tensor condition)", [](const Bound& args) -> Value { return nonzero_columns(args.var("condition")); });
NAMES("where", "Torch: where; Aten: where; Mint: where");
TRAITS("where", .complex = true);

OP("tensor_where(Tensor input, Tensor condition, Operand other)",
   [](const Bound& args) -> Value { return where(args.var("condition"), args.var("input"), args.var("other")); });
NAMES("tensor_where", "Tensor: where");
TRAITS("tensor_where", .complex = true);

}  // namespace msrun
