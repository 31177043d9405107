// Norms: vector norms over any axes, and the operators that choose between them and the norms of matrices.
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_extrema.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/roughness.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/norm_orders.h"
#include "kernels/ops/common/stored_factor.h"
#include "kernels/ops/linalg/matrix_functions.h"
#include "kernels/ops/reduce/reductions.h"
#include "kernels/tensor/complex.h"

namespace msrun {
namespace {

double norm_order(const Value& p) {
  if (const double* real = p.get<double>()) return *real;
  if (const auto* integer = p.get<std::int64_t>()) return static_cast<double>(*integer);
  if (p.is_none()) return 2;
  if (const std::string* text = p.get<std::string>()) {
    if (*text == "fro") return 2;
    if (*text == "inf") return std::numeric_limits<double>::infinity();
    if (*text == "-inf") return -std::numeric_limits<double>::infinity();
    throw SkipError("norm of order '" + *text + "' is not supported.");
  }
  throw SkipError("The order of a norm must be a number or 'fro'.");
}

Value vector_norm_of(const Bound& args, const char* order) {
  return vector_norm(as_requested(args), norm_order(args.value(order)), args.ints("dim"), args.flag("keepdim"));
}

// linalg.norm: a vector norm unless an order is given for two axes.
Value linalg_norm(const Bound& args) {
  const Var x = as_requested(args);
  Dims axes = args.ints("dim");
  const bool matrix = args.given("ord") && (axes.size() == 2 || (axes.empty() && x.rank() == 2));
  if (!matrix) return vector_norm_of(args, "ord");
  return matrix_norm(x, args.value("ord"), axes.empty() ? Dims{0, 1} : axes, args.flag("keepdim"));
}

// torch.norm: the sum of powers over all axes that are reduced, whatever their number; 'nuc' is a matrix norm.
Value plain_norm(const Bound& args) {
  const std::string* text = args.value("p").get<std::string>();
  if (text == nullptr || *text != "nuc") return vector_norm_of(args, "p");
  const Dims axes = args.ints("dim");
  return matrix_norm(as_requested(args), *text, axes.empty() ? Dims{-2, -1} : axes, args.flag("keepdim"));
}

// g |v|^(p - 1) / y^(p - 1), as kernels of float16 compute it; nothing where its range holds both powers. Rough
// computations lose the digits of small powers, too.
template <class T>
std::optional<T> quotient_of_stored_powers(T size, T norm, T g, double p, const PowersOfNorm& powers, bool rough) {
  const auto in_float16 = [rough, stored = StoredFactor(DType::float16)](T value) {
    return rough ? static_cast<T>(as_half(static_cast<float>(value))) : stored(value);
  };
  const T exact = std::pow(size, static_cast<T>(p - 1));
  const T element = in_float16(exact);
  if (p < 1) {
    // The power of the element meets the gradient before that of the norm, which is a small number.
    const T product = in_float16(element * g);
    const T exact_factor = std::pow(norm, static_cast<T>(1 - p));
    const T factor = powers.norm_in_float16 ? in_float16(exact_factor) : exact_factor;
    if (element == exact && product == element * g && factor == exact_factor) return std::nullopt;
    return product * factor;
  }
  const T exact_scale = std::pow(norm, static_cast<T>(p - 1));
  if (!powers.norm_in_float16) return element == exact ? std::nullopt : std::optional(element * (g / exact_scale));
  const T scale = in_float16(exact_scale);
  const T share = in_float16(g / scale);
  if (element == exact && scale == exact_scale && share == g / scale) return std::nullopt;
  return element * share;
}

// The same where each step is off by a place; nothing where a power leaves the range of T. An element that is the norm
// has a power that is off apart from that of the norm.
template <class T>
std::optional<T> rough_quotient_of_powers(T size, T norm, T g, double p, std::uint32_t seed) {
  const T element = rough_step(std::pow(size, static_cast<T>(p - 1)), seed);
  const T share = rough_step(g / rough_step(std::pow(norm, static_cast<T>(p - 1)), seed + 1), seed);
  const bool in_range = std::isnormal(element) && std::isnormal(share) && std::isnormal(element * share);
  return in_range ? std::optional(element * share) : std::nullopt;
}

}  // namespace

Var vector_norm(const Var& x, double p, const Dims& axes, bool keepdim) {
  const bool in_float16 = x.dtype() == DType::float16;
  return vector_norm(x, p, axes, keepdim, {.elements_in_float16 = in_float16, .norm_in_float16 = in_float16});
}

Var vector_norm(const Var& x, double p, const Dims& axes, bool keepdim, const PowersOfNorm& of_norm) {
  if (is_complex(x.dtype())) {
    // The norm of the magnitudes, in double.
    return cast(vector_norm(magnitude(cast(x, DType::complex128)), p, axes, keepdim), part_dtype(x.dtype()));
  }
  need_floating(x, "norm");
  const DType wide = wide_dtype(x.dtype());
  const Tensor t = x.tensor();
  const Dims shape = reduced_shape(x.shape(), axes, keepdim);
  const auto sum_of = [&](auto f) { return sum_unrounded(map(wide, t, f), axes, true, x.context()); };
  const auto record = [&](const Tensor& y, auto vjp) {
    return x.tape().record(as_dtype_of(x, y).reshape(shape), {{x, [t, y, axes, vjp](const Tensor& g) {
                                                                 return map(t.dtype(), t, y,
                                                                            expand_reduced(g, t.shape(), axes), vjp);
                                                               }}});
  };
  const auto sign = [](auto v) { return static_cast<decltype(v)>((v > 0) - (v < 0)); };
  if (std::isinf(p)) {
    const Tensor magnitude = map(wide, t, [](auto v) { return std::abs(v); });
    const Tensor y = extremum(p > 0 ? Extremum::maximum : Extremum::minimum, magnitude, axes, true);
    return x.tape().record(as_dtype_of(x, y).reshape(shape),
                           {{x, [t, magnitude, y, axes, sign, &context = x.context()](const Tensor& g) {
                               return map(t.dtype(), t, share_over_ties(context, magnitude, y, g, axes),
                                          [sign](auto v, auto share) { return sign(v) * share; });
                             }}});
  }
  if (p == 0) {
    return record(sum_of([](auto v) { return static_cast<decltype(v)>(v != 0); }),
                  [](auto v, auto, auto) { return decltype(v){0}; });
  }
  if (p == 1) {
    return record(sum_of([](auto v) { return std::abs(v); }), [sign](auto v, auto, auto g) { return g * sign(v); });
  }
  const StoredFactor stored = of_norm.norm_in_float16 ? StoredFactor(DType::float16) : StoredFactor::of_half(x.dtype());
  if (p == 2) {
    const Tensor squares = sum_of([](auto v) { return v * v; });
    return record(map(wide, squares, [](auto s) { return std::sqrt(s); }), [stored](auto v, auto y, auto g) {
      // Not 0 where the gradient is no number, as behind a division by this norm.
      if (stored(y) == 0) return 0 * g;
      const auto share = g / stored(y);
      return stored.keeps(y) && stored.keeps(share) ? g * v / y : stored(share) * v;
    });
  }
  // torch keeps the order in float32 for the norm itself, whatever the tensor is, and in float64 for the gradient.
  const double order = static_cast<float>(p);
  const Tensor powers = sum_of([order](auto v) { return std::pow(std::abs(v), static_cast<decltype(v)>(order)); });
  return record(map(wide, powers, [order](auto s) { return std::pow(s, static_cast<decltype(s)>(1 / order)); }),
                [p, of_norm, stored, seed = x.context().jitter_seed](auto v, auto y, auto g) {
                  using T = decltype(v);
                  // Of orders below 1 torch does not mask the gradient of a norm that is 0.
                  if (stored(y) == 0) return p < 1 ? T{0} * g : T{0};
                  if (of_norm.elements_in_float16 && (v != 0 || p > 1)) {
                    const auto quotient = quotient_of_stored_powers(std::abs(v), stored(y), g, p, of_norm, seed != 0);
                    if (quotient) return std::copysign(T{1}, v) * *quotient;
                  }
                  if (v == 0 && !is_nan(y)) return T{0} * g;
                  // Powers of the quotient: those of an element and of the norm may leave the range alone.
                  const auto size = std::abs(v);
                  if (seed != 0) {
                    const auto quotient = rough_quotient_of_powers(size, y, g, p, seed);
                    if (quotient) return std::copysign(T{1}, v) * *quotient;
                  }
                  return g * (v / size) * std::pow(size / y, static_cast<T>(p - 1));
                });
}

// The keyword `ord` marks a call of linalg.norm, which the dumper calls by the same name (api_inventory.md 2.3).
OP("norm(Tensor input, any p='fro', int[]? dim=None, bool keepdim=False, any out=None, dtype? dtype=None)",
   [](const Bound& args) -> Value { return plain_norm(args); });
OP("norm(Tensor input, any ord=None, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)",
   [](const Bound& args) -> Value { return linalg_norm(args); });
NAMES("norm", "Torch: norm native_norm; Tensor: norm; Aten: norm; Mint: norm");
// The keyword of linalg.norm may ask for the norm of a matrix.
TRAITS("norm", .autocast = AutocastPolicy::float32, .complex = true, .ranks_all_in = asks_for_extreme_norm<1, true>);

OP("frobenius_norm(Tensor input, int[]? dim=None, bool keepdim=False)", [](const Bound& args) -> Value {
  return vector_norm(args.var("input"), 2, args.ints("dim"), args.flag("keepdim"));
});
NAMES("frobenius_norm", "Torch: frobenius_norm");
TRAITS("frobenius_norm", .complex = true);

OP("linalg_norm(Tensor input, any ord=None, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)",
   [](const Bound& args) -> Value { return linalg_norm(args); });
NAMES("linalg_norm", "Torch: linalg.norm");
TRAITS("linalg_norm", .autocast = AutocastPolicy::float32, .complex = true,
       .ranks_all_in = asks_for_extreme_norm<1, true>);

OP("linalg_vector_norm(Tensor input, any ord=2, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)",
   [](const Bound& args) -> Value { return vector_norm_of(args, "ord"); });
NAMES("linalg_vector_norm", "Torch: linalg.vector_norm vector_norm; Aten: linalg_vector_norm");
TRAITS("linalg_vector_norm", .autocast = AutocastPolicy::float32, .complex = true,
       .ranks_all_in = asks_for_extreme_norm<1>);

OP("_foreach_norm(Tensor[] input, any ord=2, dtype? dtype=None)", [](const Bound& args) -> Value {
  List norms;
  for (const Var& x : args.vars("input")) norms.push_back(vector_norm(x, norm_order(args.value("ord")), {}, false));
  return norms;
});
NAMES("_foreach_norm", "Torch: _foreach_norm");
TRAITS("_foreach_norm", .ranks_all_in = asks_for_extreme_norm<1>);

OP("dist(Tensor input, Tensor other, Scalar p=2)", [](const Bound& args) -> Value {
  Raised raised;
  const Var first = args.var("input");
  const Var second = args.var("other");
  const bool in_float16 = first.dtype() == DType::float16 && second.dtype() == DType::float16;
  return raised.back(vector_norm(sub(raised(first), raised(second)), args.real("p"), {}, false,
                                 {.elements_in_float16 = in_float16, .norm_in_float16 = in_float16}));
});
NAMES("dist", "Torch: dist; Tensor: dist; Aten: dist");
TRAITS("dist", .autocast = AutocastPolicy::float32, .complex = true, .ranks_all_in = asks_for_extreme_norm<2>);

// One norm for each index along dim, over all other axes; dim -1 means over everything.
OP("norm_except_dim(Tensor v, int pow=2, int dim=0)", [](const Bound& args) -> Value {
  const Var x = args.var("v");
  const double p = static_cast<double>(args.integer("pow"));
  if (args.integer("dim") == -1) return vector_norm(x, p, {}, false);
  const std::int64_t kept = normalize_axis(args.integer("dim"), x.rank());
  Dims axes;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    if (axis != kept) axes.push_back(axis);
  }
  // Without an axis to reduce every element is its own norm.
  return axes.empty() ? vector_norm(unsqueeze(x, -1), p, {-1}, false) : vector_norm(x, p, axes, true);
});
NAMES("norm_except_dim", "Torch: norm_except_dim");

}  // namespace msrun
