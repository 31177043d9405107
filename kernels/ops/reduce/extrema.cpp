// Largest and smallest elements, their positions, and quantiles.
#include <algorithm>
#include <cmath>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_extrema.h"
#include "kernels/numeric/ordering.h"
#include "kernels/numeric/reduction_view.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/indexed_extremum.h"

namespace msrun {

IndexedExtremum indexed_extremum(Extremum which, const Var& x, std::int64_t axis, bool keepdim) {
  const Tensor indices = extremum_index(which, x.tensor(), axis, true);
  const Dims shape = reduced_shape(x.shape(), {axis}, keepdim);
  return {reshape(gather(x, axis, indices), shape), indices.reshape(shape)};
}

namespace {

// Ties share the gradient.
Var shared_extremum(Extremum which, const Var& x, const Dims& axes, bool keepdim, NanTies nan_ties) {
  const Tensor y = extremum(which, x.tensor(), axes, keepdim);
  return x.tape().record(y, {{x, [t = x.tensor(), y, axes, nan_ties, &context = x.context()](const Tensor& g) {
                                return share_over_ties(context, t, y, g, axes, nan_ties);
                              }}});
}

Var extremum_of_all(Extremum which, const Bound& args) {
  return shared_extremum(which, args.var("input"), {}, false, NanTies::shared);
}

Var extremum_along(Extremum which, const Bound& args) {
  return shared_extremum(which, args.var("input"), args.ints("dim"), args.flag("keepdim"), NanTies::undefined);
}

Value both_extrema(const Bound& args) {
  const Var x = args.var("input");
  const Dims axes = args.ints("dim");
  const bool keepdim = args.flag("keepdim");
  const auto along = [&](Extremum which) { return shared_extremum(which, x, axes, keepdim, NanTies::undefined); };
  return List{along(Extremum::minimum), along(Extremum::maximum)};
}

Value extremum_and_index(Extremum which, const Bound& args) {
  const auto [values, indices] = indexed_extremum(which, args.var("input"), args.integer("dim"), args.flag("keepdim"));
  return List{values, args.tape().constant(indices)};
}

Value extremum_index_of(Extremum which, const Bound& args) {
  const Tensor x = args.var("input").tensor();
  const bool keepdim = args.flag("keepdim");
  if (const auto axis = args.optional_integer("dim")) {
    return args.tape().constant(extremum_index(which, x, *axis, keepdim));
  }
  const Tensor index = extremum_index(which, x.reshape(Dims{x.numel()}), 0, false);
  return args.tape().constant(index.reshape(reduced_shape(x.shape(), {}, keepdim)));
}

enum class Interpolation : std::uint8_t { linear, lower, higher, midpoint, nearest };

Interpolation parse_interpolation(const std::string& text) {
  if (text == "linear") return Interpolation::linear;
  if (text == "lower") return Interpolation::lower;
  if (text == "higher") return Interpolation::higher;
  if (text == "midpoint") return Interpolation::midpoint;
  if (text == "nearest") return Interpolation::nearest;
  throw SkipError("quantile: interpolation '" + text + "' is not known.");
}

struct Neighbours {
  Tensor lower;  // int64 [rows, quantiles], indices into the row
  Tensor upper;
  Tensor weight;  // of the upper one
  Tensor slope;   // of the weight by the quantile; 0 where it is fixed
};

// The neighbours of the quantiles q of each row of x, in the precision of T.
template <class T>
Neighbours find_neighbours(const Tensor& x, const Tensor& q, Interpolation interpolation, bool ignore_nan) {
  const std::int64_t rows = x.size(0);
  const std::int64_t extent = x.size(1);
  const std::int64_t count = q.numel();
  const DType dtype = std::is_same_v<T, double> ? DType::float64 : DType::float32;
  const Tensor order = sort_index(x, 1, false);
  const Tensor values = x.to(dtype).contiguous();
  const Tensor quantiles = q.to(dtype).contiguous();
  Neighbours result{Tensor(DType::int64, {rows, count}), Tensor(DType::int64, {rows, count}),
                    Tensor(dtype, {rows, count}), Tensor::zeros(dtype, Dims{rows, count})};
  auto* lower = result.lower.mutable_data<std::int64_t>();
  auto* upper = result.upper.mutable_data<std::int64_t>();
  T* weight = result.weight.mutable_data<T>();
  T* slope = result.slope.mutable_data<T>();
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t* sorted = order.data<std::int64_t>() + row * extent;
    const T* elements = values.data<T>() + row * extent;
    // NaN come last.
    std::int64_t numbers = extent;
    while (numbers > 0 && std::isnan(elements[sorted[numbers - 1]])) --numbers;
    const bool is_nan = numbers == 0 || (numbers < extent && !ignore_nan);
    for (std::int64_t i = 0; i < count; ++i, ++lower, ++upper, ++weight, ++slope) {
      if (is_nan) {
        *lower = *upper = sorted[extent - 1];
        *weight = 0;
        continue;
      }
      T position = quantiles.data<T>()[i] * static_cast<T>(numbers - 1);
      if (interpolation == Interpolation::lower) position = std::floor(position);
      if (interpolation == Interpolation::higher) position = std::ceil(position);
      if (interpolation == Interpolation::nearest) position = std::nearbyint(position);
      if (interpolation == Interpolation::linear) *slope = static_cast<T>(numbers - 1);
      const auto below = std::clamp<std::int64_t>(static_cast<std::int64_t>(position), 0, numbers - 1);
      *lower = sorted[below];
      *upper = sorted[std::min(below + (static_cast<T>(below) < position ? 1 : 0), numbers - 1)];
      *weight = interpolation == Interpolation::midpoint ? T{0.5} : position - static_cast<T>(below);
    }
  }
  return result;
}

// quantiles is a vector, one per column of lower and upper. As in torch, between neighbours that are both infinite lies
// no number, even where the quantile is one of them; `picks` says that it always is, and nothing is computed.
Var interpolate(const Var& lower, const Var& upper, const Var& quantiles, const Neighbours& neighbours, bool picks) {
  const Tensor weight = neighbours.weight;
  // The two forms keep the end points exact.
  const Tensor y = map(lower.dtype(), lower.tensor(), upper.tensor(), weight, [picks](auto a, auto b, auto w) {
    if (picks) return a;
    return w < decltype(w){0.5} ? a + w * (b - a) : b - (b - a) * (1 - w);
  });
  return lower.tape().record(
      y,
      {{lower,
        [weight](const Tensor& g) { return map(g.dtype(), g, weight, [](auto v, auto w) { return v * (1 - w); }); }},
       {upper, [weight](const Tensor& g) { return map(g.dtype(), g, weight, [](auto v, auto w) { return v * w; }); }},
       {quantiles, [a = lower.tensor(), b = upper.tensor(), slope = neighbours.slope,
                    &context = lower.context()](const Tensor& g) {
          const Tensor parts = map(slope.dtype(), g, a, b, slope, [](auto v, auto low, auto high, auto s) {
            return s == 0 ? decltype(v){0} : v * s * (high - low);
          });
          return sum(parts, Dims{0}, false, context.with_sound_arithmetic());
        }}});
}

Value quantile(const Bound& args, bool ignore_nan) {
  const Var x = args.var("input");
  if (!is_floating(x.dtype())) throw SkipError("quantile needs a floating point tensor.");
  const Var quantiles = args.var("q");
  const Tensor& q = quantiles.tensor();
  if (q.rank() > 1) throw SkipError("quantile: q must be a number or a vector.");
  if (q.numel() > 0 && !(extremum(Extremum::maximum, q, {}, false).item() <= 1 &&
                         extremum(Extremum::minimum, q, {}, false).item() >= 0)) {
    throw SkipError("quantile: q must be in the range [0, 1].");
  }
  const auto axis = args.optional_integer("dim");
  const Dims axes = axis ? Dims{*axis} : Dims{};
  const std::int64_t extent = reduced_count(x.shape(), axes);
  if (x.numel() == 0) throw SkipError("quantile: the input tensor must not be empty.");
  const Var moved = axis && x.rank() > 0 ? transpose(x, *axis, -1) : x;
  const Var rows = reshape(moved, {x.numel() / extent, extent});
  const Interpolation interpolation = parse_interpolation(args.text("interpolation"));
  const Neighbours n = x.dtype() == DType::float64
                           ? find_neighbours<double>(rows.tensor(), q, interpolation, ignore_nan)
                           : find_neighbours<float>(rows.tensor(), q, interpolation, ignore_nan);
  const bool picks = interpolation != Interpolation::linear && interpolation != Interpolation::midpoint;
  const Var y = interpolate(gather(rows, 1, n.lower), gather(rows, 1, n.upper), reshape(quantiles, {quantiles.numel()}),
                            n, picks);
  // [rows, quantiles] to the quantiles, if q has an axis, before the shape of the reduction.
  Dims shape = axis && x.rank() > 0 ? moved.shape() : Dims(x.shape().size(), 1);
  if (!shape.empty()) shape.back() = 1;
  shape.insert(shape.begin(), q.numel());
  Var result = reshape(transpose(y, 0, 1), shape);
  if (axis && x.rank() > 0) result = transpose(result, normalize_axis(*axis, x.rank()) + 1, -1);
  Dims final_shape = reduced_shape(x.shape(), axes, args.flag("keepdim"));
  if (q.rank() == 1) final_shape.insert(final_shape.begin(), q.numel());
  return reshape(result, final_shape);
}

}  // namespace

OP("max(Tensor input)", [](const Bound& args) -> Value { return extremum_of_all(Extremum::maximum, args); });
OP("max(Tensor input, Tensor other)",
   [](const Bound& args) -> Value { return maximum(args.var("input"), args.var("other")); });
OP("max(Tensor input, int dim, bool keepdim=False)",
   [](const Bound& args) -> Value { return extremum_and_index(Extremum::maximum, args); });
NAMES("max", "Torch: max; Tensor: max; Aten: max; Mint: max");
TRAITS("max", .ties = {.indices = IndexOutput::of_values}, .picks = PickedAxis{1}, .ranks = true);

OP("min(Tensor input)", [](const Bound& args) -> Value { return extremum_of_all(Extremum::minimum, args); });
OP("min(Tensor input, Tensor other)",
   [](const Bound& args) -> Value { return minimum(args.var("input"), args.var("other")); });
OP("min(Tensor input, int dim, bool keepdim=False)",
   [](const Bound& args) -> Value { return extremum_and_index(Extremum::minimum, args); });
NAMES("min", "Torch: min; Tensor: min; Aten: min; Mint: min");
TRAITS("min", .ties = {.indices = IndexOutput::of_values}, .picks = PickedAxis{1}, .ranks = true);

OP("amax(Tensor input, int[]? dim=[], bool keepdim=False)",
   [](const Bound& args) -> Value { return extremum_along(Extremum::maximum, args); });
NAMES("amax", "Torch: amax; Tensor: amax; Aten: amax");
TRAITS("amax", .ranks = true);

OP("amin(Tensor input, int[]? dim=[], bool keepdim=False)",
   [](const Bound& args) -> Value { return extremum_along(Extremum::minimum, args); });
NAMES("amin", "Torch: amin; Tensor: amin; Aten: amin");
TRAITS("amin", .ranks = true);

OP("aminmax(Tensor input, *, int? dim=None, bool keepdim=False)",
   [](const Bound& args) -> Value { return both_extrema(args); });
NAMES("aminmax", "Torch: aminmax; Tensor: aminmax; Aten: aminmax");
TRAITS("aminmax", .ranks = true, .may_add_axis = true);

OP("_aminmax(Tensor input, int? dim=None, bool keepdim=False)",
   [](const Bound& args) -> Value { return both_extrema(args); });
NAMES("_aminmax", "Torch: _aminmax");
TRAITS("_aminmax", .ranks = true, .may_add_axis = true);

OP("argmax(Tensor input, int? dim=None, bool keepdim=False)",
   [](const Bound& args) -> Value { return extremum_index_of(Extremum::maximum, args); });
NAMES("argmax", "Torch: argmax; Tensor: argmax; Aten: argmax; Mint: argmax");
TRAITS("argmax", .ties = {.indices = IndexOutput::of_largest});

OP("argmin(Tensor input, int? dim=None, bool keepdim=False)",
   [](const Bound& args) -> Value { return extremum_index_of(Extremum::minimum, args); });
NAMES("argmin", "Torch: argmin; Tensor: argmin; Aten: argmin; Mint: argmin");
TRAITS("argmin", .ties = {.indices = IndexOutput::of_smallest});

// Between two order statistics: each of both elements gets its part of the gradient.
constexpr PickedAxis quantile_picks{.position = 2, .from_all = true};

OP("quantile(Tensor input, Operand q, int? dim=None, bool keepdim=False, *, str interpolation='linear')",
   [](const Bound& args) -> Value { return quantile(args, false); });
NAMES("quantile", "Torch: quantile; Tensor: quantile");
TRAITS("quantile", .picks = quantile_picks, .ranks = true);

OP("nanquantile(Tensor input, Operand q, int? dim=None, bool keepdim=False, *, str interpolation='linear')",
   [](const Bound& args) -> Value { return quantile(args, true); });
NAMES("nanquantile", "Torch: nanquantile; Tensor: nanquantile");
TRAITS("nanquantile", .picks = quantile_picks, .ranks = true);

}  // namespace msrun
