// Resizing of the spatial axes: nearest, linear, cubic, area and antialiased interpolation (api_inventory.md 3,
// pooling).
//
// Every mode is separable: along each axis an output element is a weighted sum of a few input elements, its taps. Axes
// are resized one after the other; the gradient runs the transposed sums in reverse order.
//
// A scale factor need not reproduce the size: 4 elements times 1.19 are 4. Frameworks' kernels have shortcuts for axes
// that keep or double their length, which leave the factor out. Which direction of which mode has one is a matter of
// these kernels, and so the taps of the gradient are not always those of the result.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/nn/interpolation_taps.h"
#include "kernels/tensor/memory.h"
#include "kernels/tensor/recorded_dtypes.h"

namespace msrun {
namespace {

// from [outer, in, inner] to [outer, out, inner], or transposed: from [outer, out, inner], added to [outer, in, inner].
template <class T, bool transposed>
void resize_axis(const Taps& taps, const T* from, T* to, std::int64_t outer, std::int64_t inner,
                 Accumulator accumulator) {
  const std::vector<T> weight(taps.weight.begin(), taps.weight.end());
  if (inner == 1 && accumulator == Accumulator::wide) {
    for (std::int64_t block = 0; block < outer; ++block) {
      const T* source = from + block * (transposed ? taps.out : taps.in);
      T* target = to + block * (transposed ? taps.in : taps.out);
      const std::int64_t* index = taps.index.data();
      const T* w = weight.data();
      for (std::int64_t o = 0; o < taps.out; ++o, index += taps.count, w += taps.count) {
        for (std::int64_t k = 0; k < taps.count; ++k) {
          // A weight of 0 counts: times an infinite neighbour it is NaN, as in torch.
          if (index[k] < 0) continue;
          if constexpr (transposed) {
            target[index[k]] += w[k] * source[o];
          } else {
            target[o] += w[k] * source[index[k]];
          }
        }
      }
    }
    return;
  }
  for (std::int64_t block = 0; block < outer; ++block) {
    const T* source = from + block * (transposed ? taps.out : taps.in) * inner;
    T* target = to + block * (transposed ? taps.in : taps.out) * inner;
    for (std::int64_t o = 0; o < taps.out; ++o) {
      for (std::int64_t k = 0; k < taps.count; ++k) {
        const T w = weight[static_cast<std::size_t>(o * taps.count + k)];
        const std::int64_t i = taps.index[static_cast<std::size_t>(o * taps.count + k)];
        if (i < 0) continue;
        const T* read = source + (transposed ? o : i) * inner;
        T* write = target + (transposed ? i : o) * inner;
        with_accumulator(accumulator, [&]<Accumulator A>(std::integral_constant<Accumulator, A>) {
          for (std::int64_t j = 0; j < inner; ++j) write[j] = add_step<A>(write[j], w * read[j]);
        });
      }
    }
  }
}

// A resize of the axes from 2 on.
struct Resize {
  std::vector<Taps> taps;
  std::vector<Taps> gradient_taps;  // empty: those of the result
  Accumulator accumulator = Accumulator::wide;

  template <bool transposed>
  Tensor apply(const EvaluationContext& context, const Tensor& tensor) const {
    Tensor current = to_compute(tensor);
    const std::vector<Taps>& of_axes = transposed && !gradient_taps.empty() ? gradient_taps : taps;
    for (std::size_t step = 0; step < of_axes.size(); ++step) {
      const std::size_t axis = transposed ? of_axes.size() - 1 - step : step;
      const Taps& of_axis = of_axes[axis];
      Dims shape = current.shape();
      shape[axis + 2] = transposed ? of_axis.in : of_axis.out;
      // Backward, an element adds up what all elements give it that it is a tap of.
      context.note_sums(of_axis.count * (transposed ? of_axis.out / of_axis.in + 1 : 1), element_count(shape));
      Tensor next = Tensor::zeros(current.dtype(), shape);
      const std::int64_t outer = element_count(std::span(shape.data(), axis + 2));
      const std::int64_t inner = element_count(std::span(shape.data() + axis + 3, shape.size() - axis - 3));
      visit_compute(current.dtype(), [&](auto element) {
        using T = decltype(element);
        resize_axis<T, transposed>(of_axis, current.data<T>(), next.mutable_data<T>(), outer, inner, accumulator);
      });
      current = next;
    }
    return current;
  }
};

// Adds those of the gradient where kernels have a shortcut there that the result's lack.
//
// The gradient of the mode nearest goes by the lengths on the processor, and by the factor on GPUs: either is right. A
// bicubic gradient is passed on as it is where no axis changes its length.
void add_gradient_taps(const EvaluationContext& context, const std::vector<Axis>& axes, const ResizeOptions& options,
                       DType wide, Resize& plan) {
  const auto keeps_length = [](const Axis& axis) { return axis.in == axis.out; };
  const auto has_own_factor = [](const Axis& axis) { return axis.factor && has_shortcut(axis); };
  if (options.mode == Mode::nearest && !options.by_lengths && std::ranges::any_of(axes, has_own_factor)) {
    if (context.gives_alternative()) return;
    ResizeOptions of_gradient = options;
    of_gradient.by_lengths = true;
    for (const Axis& axis : axes) plan.gradient_taps.push_back(taps_of(axis, of_gradient, wide));
  } else if (options.mode == Mode::cubic && !options.antialias && std::ranges::all_of(axes, keeps_length)) {
    for (const Axis& axis : axes) plan.gradient_taps.push_back(copying_taps(axis, 1));
  }
}

// Kernels of half types may hold the positions of a bicubic gradient in the half type, of which few digits are left.
void store_gradient_positions(const EvaluationContext& context, const std::vector<Axis>& axes, ResizeOptions options,
                              DType dtype, DType wide, Resize& plan) {
  options.stored = context.recorded_dtype(dtype);
  if (options.mode != Mode::cubic || options.antialias || !is_half(options.stored) || !plan.gradient_taps.empty())
    return;
  options.held = context.positions();
  if (options.held == Positions::wide) return;
  for (const Axis& axis : axes) plan.gradient_taps.push_back(taps_of(axis, options, wide));
}

bool has_only_numbers(const Tensor& tensor) {
  return visit_compute(tensor.dtype(), [&](auto element) {
    const auto* data = tensor.data<decltype(element)>();
    return std::all_of(data, data + tensor.numel(), [](auto x) { return std::isfinite(x); });
  });
}

// Where a position lies on an element, the next one has a weight of 0, or next to it: beside an infinite element the
// result is NaN or infinite, and either is right.
template <bool transposed>
Tensor resized(const EvaluationContext& context, const Resize& plan, const std::vector<Axis>& axes,
               ResizeOptions options, const Tensor& tensor) {
  Tensor result = plan.apply<transposed>(context, tensor);
  const bool has_positions = (options.mode == Mode::linear || options.mode == Mode::cubic) && !options.antialias;
  if (!has_positions || has_only_numbers(result) || !context.gives_alternative()) return result;
  options.behind_elements = true;
  Resize other;
  other.accumulator = plan.accumulator;
  for (const Axis& axis : axes) other.taps.push_back(taps_of(axis, options, tensor.dtype()));
  return other.apply<transposed>(context, tensor);
}

// sizes: of the output, empty where the factors decide. factors: empty, or one per axis; they place the elements where
// keep_factors is set.
Var resize(const Var& x, const Dims& sizes, const std::vector<double>& factors, bool keep_factors,
           ResizeOptions options) {
  // A tensor of one channel is channels-last as well, whose kernels go by the lengths in both directions.
  options.by_lengths = x.rank() > 3 && x.size(1) == 1;
  const auto spatial = static_cast<std::size_t>(x.rank() - 2);
  constexpr double limit = 0x1p31;
  std::vector<Axis> axes(spatial);
  Dims shape = x.shape();
  for (std::size_t i = 0; i < spatial; ++i) {
    Axis& axis = axes[i];
    axis.in = shape[i + 2];
    const double wanted =
        sizes.empty() ? std::floor(static_cast<double>(axis.in) * factors[i]) : static_cast<double>(sizes[i]);
    if (axis.in < 1 || !(wanted >= 1)) {
      throw SkipError("Input and output sizes should be greater than 0, but got input " + tuple_text(x.shape()) +
                      " and output size " + short_number(wanted) + ".");
    }
    if (!(wanted < limit) || static_cast<double>(axis.in) >= limit) {
      throw SkipError("Interpolation: an output size of " + short_number(wanted) +
                      " is out of all proportion to the input " + tuple_text(x.shape()) + ".");
    }
    axis.out = static_cast<std::int64_t>(wanted);
    if (keep_factors && !(factors[i] > 1e-9)) throw SkipError("Interpolation: scale_factor is out of range.");
    if (keep_factors) axis.factor = factors[i];
    shape[i + 2] = axis.out;
  }
  element_count(shape);
  const DType wide = is_floating(x.dtype()) ? x.dtype() : DType::float64;
  Resize plan;
  plan.accumulator = x.arithmetic().summation.accumulator;
  if (element_count(shape) > 0) {
    // Before the tables are made: the result may not fit the memory.
    check_tensor_memory(static_cast<std::size_t>(element_count(shape)), size_of(wide));
    for (const Axis& axis : axes) plan.taps.push_back(taps_of(axis, options, wide));
    add_gradient_taps(x.context(), axes, options, wide, plan);
    store_gradient_positions(x.context(), axes, options, x.dtype(), wide, plan);
  }
  const Tensor y = element_count(shape) == 0
                       ? Tensor(x.dtype(), shape)
                       : resized<false>(x.context(), plan, axes, options, x.tensor().to(wide)).to(x.dtype());
  return x.tape().record(y, {{x, [plan, axes, options, from = x.shape(), &context = x.context()](const Tensor& g) {
                                return g.numel() == 0 ? Tensor::zeros(g.dtype(), from)
                                                      : resized<true>(context, plan, axes, options, g);
                              }}});
}

std::vector<double> per_axis(std::vector<double> values, std::size_t spatial, const char* what) {
  if (values.size() == 1) values.resize(spatial, values[0]);
  if (values.size() != spatial)
    throw SkipError(std::string(what) + " must have the same number of dimensions as the spatial input, " +
                    std::to_string(spatial) + ".");
  return values;
}

void require_rank(const Var& x, std::int64_t rank, const std::string& mode) {
  if (x.rank() != rank)
    throw SkipError("Interpolation mode " + mode + " expects an input of " + std::to_string(rank) +
                    " dimensions, not " + tuple_text(x.shape()) + ".");
}

ResizeOptions options_of(const Var& x, const std::string& mode, bool align_given, bool align_corners, bool antialias) {
  if (x.rank() < 3 || x.rank() > 5)
    throw SkipError("Interpolation expects an input of 3 to 5 dimensions, not " + tuple_text(x.shape()) + ".");
  ResizeOptions options;
  (x.context().computes_wide() ? options.seed_of_weights : options.seed_of_positions) = x.context().jitter_seed;
  options.align_corners = align_corners;
  options.antialias = antialias;
  if (mode == "nearest") {
    options.mode = Mode::nearest;
  } else if (mode == "nearest-exact") {
    options.mode = Mode::nearest_exact;
  } else if (mode == "area") {
    options.mode = Mode::area;
  } else if (mode == "linear" || mode == "bilinear" || mode == "trilinear") {
    require_rank(x, mode == "linear" ? 3 : mode == "bilinear" ? 4 : 5, mode);
    options.mode = Mode::linear;
  } else if (mode == "bicubic") {
    require_rank(x, 4, mode);
    options.mode = Mode::cubic;
  } else {
    throw SkipError("Interpolation mode " + mode + " is not known.");
  }
  const bool filters = options.mode == Mode::linear || options.mode == Mode::cubic;
  if (align_given && !filters) {
    throw SkipError(
        "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear");
  }
  if (antialias && (!filters || x.rank() != 4))
    throw SkipError("Anti-alias option is restricted to bilinear and bicubic modes.");
  return options;
}

Var interpolate(const Bound& args, const ResizeOptions& options, bool recompute) {
  const Var x = args.var("input");
  const auto spatial = static_cast<std::size_t>(x.rank() - 2);
  if (args.given("size") == args.given("scale_factor"))
    throw SkipError("either size or scale_factor should be defined, and not both");
  if (args.given("size")) {
    Dims sizes = args.ints("size");
    if (sizes.size() == 1) sizes = Dims(spatial, sizes[0]);
    if (sizes.size() != spatial) throw SkipError("size must have one number for each spatial dimension of the input.");
    return resize(x, sizes, {}, false, options);
  }
  const std::vector<double> factors = per_axis(args.reals("scale_factor"), spatial, "scale_factor");
  return resize(x, {}, factors, !recompute && options.mode != Mode::area, options);
}

Value interpolate_in(const Bound& args, const std::string& mode, bool align_given, bool align_corners) {
  return interpolate(args, options_of(args.var("input"), mode, align_given, align_corners, false), false);
}

// Where a size and a factor do not fit, linear kernels read beyond the input, and others hold on to its end.
void require_inside(std::int64_t in, std::int64_t out, double factor) {
  if (!(factor > 0) || (static_cast<double>(out) - 0.5) / factor - 0.5 < static_cast<double>(in)) return;
  throw SkipError("Element " + std::to_string(out - 1) + " of the output lies beyond the " + std::to_string(in) +
                  " elements of the input by the factor " + short_number(factor) + ".");
}

// Aten's kernels: a size, factors, or a size with the factors that place the elements, one by one.
Value aten_upsample(const Bound& args, const char* mode, bool align_corners, bool antialias) {
  const Var x = args.var("input");
  const ResizeOptions options = options_of(x, mode, false, align_corners, antialias);
  const auto spatial = static_cast<std::size_t>(x.rank() - 2);
  const Dims sizes = args.ints("output_size");
  std::vector<double> factors = args.reals("scale_factors");
  for (const char* name : {"scales_2", "scales_3", "scales", "scales_d", "scales_h", "scales_w"}) {
    if (const auto factor = args.optional_real(name)) factors.push_back(*factor);
  }
  if (sizes.empty() && factors.empty()) throw SkipError("Must specify exactly one of output_size and scale_factors");
  if (!sizes.empty() && sizes.size() != spatial)
    throw SkipError("output_size must have one number for each spatial dimension of the input.");
  if (!factors.empty()) factors = per_axis(factors, spatial, "scale_factors");
  const bool places = options.mode == Mode::linear && !align_corners && !sizes.empty() && !factors.empty();
  for (std::size_t axis = 0; places && axis < spatial; ++axis) {
    require_inside(x.size(static_cast<std::int64_t>(axis) + 2), sizes[axis], factors[axis]);
  }
  return resize(x, sizes, factors, !factors.empty(), options);
}

}  // namespace

OP("interpolate(Tensor input, int[]? size=None, float[]? scale_factor=None, str mode='nearest', bool? "
   "align_corners=None, "
   "bool? recompute_scale_factor=None, bool antialias=False)",
   [](const Bound& args) -> Value {
     const bool align = args.given("align_corners") && args.flag("align_corners");
     const bool recompute = args.given("recompute_scale_factor") && args.flag("recompute_scale_factor");
     if (recompute && args.given("size"))
       throw SkipError("recompute_scale_factor is not meaningful with an explicit size.");
     const ResizeOptions options =
         options_of(args.var("input"), args.text("mode"), args.given("align_corners"), align, args.flag("antialias"));
     return interpolate(args, options, recompute);
   });
NAMES("interpolate", "Functional: interpolate; Mint: interpolate; MintFunctional: interpolate");
TRY_FIRST("interpolate", Trial::of_sizes);
TRAITS("interpolate", .varies = Varies::gradients, .half_sums = HalfSums::gradients, .element_work = 3.5);

OP("upsample(Tensor input, int[]? size=None, float[]? scale_factor=None, str mode='nearest', bool? align_corners=None)",
   [](const Bound& args) {
     const bool align = args.given("align_corners") && args.flag("align_corners");
     return interpolate_in(args, args.text("mode"), args.given("align_corners"), align);
   });
NAMES("upsample", "Functional: upsample");
TRY_FIRST("upsample", Trial::of_sizes);
TRAITS("upsample", .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("upsample_nearest(Tensor input, int[]? size=None, float[]? scale_factor=None)",
   [](const Bound& args) { return interpolate_in(args, "nearest", false, false); });
NAMES("upsample_nearest", "Functional: upsample_nearest");
TRY_FIRST("upsample_nearest", Trial::of_sizes);
TRAITS("upsample_nearest", .half_sums = HalfSums::gradients);

OP("upsample_bilinear(Tensor input, int[]? size=None, float[]? scale_factor=None)",
   [](const Bound& args) { return interpolate_in(args, "bilinear", true, true); });
NAMES("upsample_bilinear", "Functional: upsample_bilinear");
TRY_FIRST("upsample_bilinear", Trial::of_sizes);
TRAITS("upsample_bilinear", .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("upsample_nearest1d(Tensor input, int[]? output_size, float[]? scale_factors=None, float? scales_2=None, "
   "float? scales_3=None, *, float? scales=None, float? scales_d=None, float? scales_h=None, float? scales_w=None)",
   [](const Bound& args) { return aten_upsample(args, "nearest", false, false); });
NAMES("upsample_nearest1d", "Aten: upsample_nearest1d upsample_nearest2d upsample_nearest3d");
TRY_FIRST("upsample_nearest1d", Trial::of_sizes);
TRAITS("upsample_nearest1d", .half_sums = HalfSums::gradients);

OP("_upsample_nearest_exact1d(Tensor input, int[]? output_size, float[]? scale_factors=None, float? scales_2=None, "
   "float? scales_3=None, *, float? scales=None, float? scales_d=None, float? scales_h=None, float? scales_w=None)",
   [](const Bound& args) { return aten_upsample(args, "nearest-exact", false, false); });
NAMES("_upsample_nearest_exact1d",
      "Aten: _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d");
TRY_FIRST("_upsample_nearest_exact1d", Trial::of_sizes);

OP("upsample_linear1d(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors=None, "
   "float? scales_2=None, float? scales_3=None, *, float? scales=None, float? scales_d=None, float? scales_h=None, "
   "float? scales_w=None)",
   [](const Bound& args) { return aten_upsample(args, "linear", args.flag("align_corners"), false); });
NAMES("upsample_linear1d", "Aten: upsample_linear1d");
TRY_FIRST("upsample_linear1d", Trial::of_sizes);
TRAITS("upsample_linear1d", .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("upsample_bilinear2d(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors=None, "
   "float? scales_2=None, float? scales_3=None, *, float? scales=None, float? scales_d=None, float? scales_h=None, "
   "float? scales_w=None)",
   [](const Bound& args) { return aten_upsample(args, "bilinear", args.flag("align_corners"), false); });
NAMES("upsample_bilinear2d", "Aten: upsample_bilinear2d");
TRY_FIRST("upsample_bilinear2d", Trial::of_sizes);
TRAITS("upsample_bilinear2d", .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("upsample_trilinear3d(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors=None, "
   "float? scales_2=None, float? scales_3=None, *, float? scales=None, float? scales_d=None, float? scales_h=None, "
   "float? scales_w=None)",
   [](const Bound& args) { return aten_upsample(args, "trilinear", args.flag("align_corners"), false); });
NAMES("upsample_trilinear3d", "Aten: upsample_trilinear3d");
TRY_FIRST("upsample_trilinear3d", Trial::of_sizes);
TRAITS("upsample_trilinear3d", .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("upsample_bicubic2d(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors=None, "
   "float? scales_2=None, float? scales_3=None, *, float? scales=None, float? scales_d=None, float? scales_h=None, "
   "float? scales_w=None)",
   [](const Bound& args) { return aten_upsample(args, "bicubic", args.flag("align_corners"), false); });
NAMES("upsample_bicubic2d", "Aten: upsample_bicubic2d");
TRY_FIRST("upsample_bicubic2d", Trial::of_sizes);
TRAITS("upsample_bicubic2d", .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("_upsample_bilinear2d_aa(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors=None, "
   "float? scales_2=None, float? scales_3=None, *, float? scales=None, float? scales_d=None, float? scales_h=None, "
   "float? scales_w=None)",
   [](const Bound& args) { return aten_upsample(args, "bilinear", args.flag("align_corners"), true); });
NAMES("_upsample_bilinear2d_aa", "Aten: _upsample_bilinear2d_aa");
TRY_FIRST("_upsample_bilinear2d_aa", Trial::of_sizes);
TRAITS("_upsample_bilinear2d_aa", .half_sums = HalfSums::gradients);

}  // namespace msrun
