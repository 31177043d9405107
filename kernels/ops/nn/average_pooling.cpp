// Pooling by averages and by power means over windows of one to three spatial axes (api_inventory.md 3, pooling).
//
// Sliding windows are computed a slice of outputs at a time (pooling_runs.h), all others window by window.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/pooling_runs.h"
#include "kernels/numeric/pooling_windows.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/real_power.h"
#include "kernels/ops/common/requirements.h"
#include "kernels/ops/nn/pooling_options.h"

namespace msrun {
namespace {

enum class Divisor : std::uint8_t { with_padding, real_elements };

struct Average {
  Geometry geometry;
  Divisor divisor = Divisor::real_elements;
  std::int64_t divisor_override = 0;  // 0: none

  double divisor_of(const Window& d, const Window& h, const Window& w) const {
    if (divisor_override != 0) return static_cast<double>(divisor_override);
    if (divisor == Divisor::with_padding) return static_cast<double>(d.extent * h.extent * w.extent);
    return static_cast<double>((d.stop - d.start) * (h.stop - h.start) * (w.stop - w.start));
  }
};

// The divisors of a slice of outputs, as SplitPlane lays them out.
template <class T>
void divisors_of(const Average& average, const Window& d, std::int64_t pitch, std::vector<T>& divisors) {
  const std::vector<Window>& columns = average.geometry.axes[2].windows;
  T* row = divisors.data();
  for (const Window& h : average.geometry.axes[1].windows) {
    for (std::size_t o = 0; o < columns.size(); ++o) row[o] = static_cast<T>(average.divisor_of(d, h, columns[o]));
    row += pitch;
  }
}

template <class T>
void average_runs(const Tensor& input, const Average& average, Tensor& y) {
  const Geometry& geometry = average.geometry;
  const std::int64_t width = geometry.axes[2].out;
  SplitPlane<T> plane(geometry, T{0});
  RowReader<T> reader(input, RowLayout::plain(geometry.input_plane()));
  RowWriter<T> writer(y, RowLayout::plain(geometry.output_plane()));
  const std::int64_t run = plane.run();
  std::vector<T> divisors(static_cast<std::size_t>(run), T{1});
  std::vector<T> totals(divisors.size());
  T* total = totals.data();
  for (std::int64_t p = 0; p < geometry.planes; ++p) {
    plane.load(reader.read(p));
    T* slice = writer.write(p);
    for (const Window& d : geometry.axes[0].windows) {
      if (p == 0 || geometry.axes[0].out > 1) divisors_of(average, d, plane.pitch(), divisors);
      std::fill(totals.begin(), totals.end(), T{0});
      plane.for_each_position(d, [&](const T* values, std::int64_t /*offset*/) {
        for (std::int64_t i = 0; i < run; ++i) total[i] += values[i];
      });
      for_each_output_row(geometry, plane, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t o = 0; o < width; ++o)
          slice[to + o] = total[from + o] / divisors[static_cast<std::size_t>(from + o)];
      });
      slice += geometry.axes[1].out * width;
    }
    writer.store(p);
  }
}

template <class T>
void average_runs_backward(const Tensor& gradient, const Average& average, Tensor& result) {
  const Geometry& geometry = average.geometry;
  const std::int64_t width = geometry.axes[2].out;
  SplitPlane<T> plane(geometry, T{0});
  RowReader<T> reader(gradient, RowLayout::plain(geometry.output_plane()));
  RowWriter<T> writer(result, RowLayout::plain(geometry.input_plane()));
  const std::int64_t run = plane.run();
  std::vector<T> divisors(static_cast<std::size_t>(run), T{1});
  std::vector<T> shares(divisors.size());  // what lies between rows stays 0
  T* share = shares.data();
  for (std::int64_t p = 0; p < geometry.planes; ++p) {
    const T* slice = reader.read(p);
    plane.clear();
    for (const Window& d : geometry.axes[0].windows) {
      if (p == 0 || geometry.axes[0].out > 1) divisors_of(average, d, plane.pitch(), divisors);
      for_each_output_row(geometry, plane, [&](std::int64_t to, std::int64_t from) {
        for (std::int64_t o = 0; o < width; ++o)
          share[to + o] = slice[from + o] / divisors[static_cast<std::size_t>(to + o)];
      });
      plane.for_each_position_backwards(d, [&](T* values) {
        for (std::int64_t i = 0; i < run; ++i) values[i] += share[i];
      });
      slice += geometry.axes[1].out * width;
    }
    plane.unload(writer.write(p));
    writer.store(p);
  }
}

Tensor average_forward(const Tensor& input, const Average& average, Accumulator accumulator) {
  const Geometry& geometry = average.geometry;
  if (accumulator == Accumulator::wide && suits_runs(geometry)) {
    Tensor y(input.dtype(), geometry.result_shape);
    const Tensor x = input.contiguous();
    visit_compute(x.dtype(), [&](auto element) { average_runs<decltype(element)>(x, average, y); });
    return y;
  }
  const Tensor x = to_compute(input);
  Tensor y(x.dtype(), geometry.result_shape);
  if (y.numel() == 0) return y.to(input.dtype());
  visit_compute(x.dtype(), [&](auto element) {
    using T = decltype(element);
    for (std::int64_t plane = 0; plane < geometry.planes; ++plane) {
      const T* from = x.data<T>() + plane * geometry.input_plane();
      T* to = y.mutable_data<T>() + plane * geometry.output_plane();
      for_each_window(geometry, [&](const Window& d, const Window& h, const Window& w, std::int64_t position) {
        T total = 0;
        for_each_run(geometry, d, h, w, [&](std::int64_t start, std::int64_t count) {
          const T* run = from + start;
          if (count >= 32 && accumulator == Accumulator::wide) {
            total += row_sum<T>(count, {}, [run](std::int64_t i) { return run[i]; });
          } else {
            for (std::int64_t i = 0; i < count; ++i) total = add_step(total, run[i], accumulator);
          }
        });
        to[position] = total / static_cast<T>(average.divisor_of(d, h, w));
      });
    }
  });
  return y.to(input.dtype());
}

Tensor average_backward(const EvaluationContext& context, const Tensor& gradient, const Average& average,
                        const Dims& input_shape) {
  const Accumulator accumulator = context.arithmetic.summation.accumulator;
  const Geometry& geometry = average.geometry;
  context.note_sums(most_windows(geometry), element_count(input_shape));
  if (accumulator == Accumulator::wide && suits_runs(geometry)) {
    Tensor result(gradient.dtype(), input_shape);
    const Tensor g = gradient.contiguous();
    visit_compute(g.dtype(), [&](auto element) { average_runs_backward<decltype(element)>(g, average, result); });
    return result;
  }
  const Tensor g = to_compute(gradient);
  Tensor result = Tensor::zeros(g.dtype(), input_shape);
  if (g.numel() == 0) return result;
  visit_compute(g.dtype(), [&](auto element) {
    using T = decltype(element);
    for (std::int64_t plane = 0; plane < geometry.planes; ++plane) {
      const T* from = g.data<T>() + plane * geometry.output_plane();
      T* to = result.mutable_data<T>() + plane * geometry.input_plane();
      for_each_window(geometry, [&](const Window& d, const Window& h, const Window& w, std::int64_t position) {
        const T share = from[position] / static_cast<T>(average.divisor_of(d, h, w));
        for_each_run(geometry, d, h, w, [&](std::int64_t start, std::int64_t count) {
          for (std::int64_t i = start; i < start + count; ++i) to[i] = add_step(to[i], share, accumulator);
        });
      });
    }
  });
  return result;
}

// Averages of integers are cut towards zero.
Tensor average_integers(const Tensor& input, const Average& average) {
  const Tensor x = input.contiguous();
  const Geometry& geometry = average.geometry;
  Tensor y(DType::int64, geometry.result_shape);
  if (y.numel() == 0) return y;
  for (std::int64_t plane = 0; plane < geometry.planes; ++plane) {
    const std::int64_t* from = x.data<std::int64_t>() + plane * geometry.input_plane();
    std::int64_t* to = y.mutable_data<std::int64_t>() + plane * geometry.output_plane();
    for_each_window(geometry, [&](const Window& d, const Window& h, const Window& w, std::int64_t position) {
      std::int64_t total = 0;
      for_each_run(geometry, d, h, w, [&](std::int64_t start, std::int64_t count) {
        for (std::int64_t i = start; i < start + count; ++i) total = wrapping_add(total, from[i]);
      });
      const auto divisor = static_cast<std::int64_t>(average.divisor_of(d, h, w));
      to[position] = divisor == 0 ? 0 : divisor == -1 ? wrapping_neg(total) : total / divisor;
    });
  }
  return y;
}

Var average_pool(const Var& x, const Average& average) {
  require_floating(x, "Average pooling");
  const Accumulator accumulator = x.arithmetic().summation.accumulator;
  return x.tape().record(average_forward(x.tensor(), average, accumulator),
                         {{x, [average, shape = x.shape(), &context = x.context()](const Tensor& g) {
                             return average_backward(context, g, average, shape);
                           }}});
}

Value average_sliding(const Bound& args, std::size_t spatial, std::int64_t divisor_override) {
  const Var x = args.var("input");
  Average average;
  average.geometry = sliding_windows(x.tensor(), spatial, pool_options(args));
  average.divisor = args.flag("count_include_pad") ? Divisor::with_padding : Divisor::real_elements;
  average.divisor_override = divisor_override;
  if (x.dtype() == DType::int64) return x.tape().constant(average_integers(x.tensor(), average));
  return average_pool(x, average);
}

Value average_sliding(const Bound& args, std::size_t spatial) {
  const auto divisor = args.optional_integer("divisor_override");
  if (divisor == 0) throw SkipError("avg_pool: divisor_override must not be zero.");
  return average_sliding(args, spatial, divisor.value_or(0));
}

Value average_adaptive(const Bound& args, std::size_t spatial) {
  const Var x = args.var("input");
  return average_pool(x, {adaptive_windows(x.tensor(), spatial, args.value("output_size"))});
}

// Powers of int64 whose exponent is a Python integer are integers, and their average is cut towards zero.
Var integer_power_mean(const Var& x, const Average& average, std::int64_t p, double size) {
  const Tensor powers = map_as(Compute::int64, DType::int64, x.tensor(), [p](auto v) {
    auto power = decltype(v){1};
    for (std::int64_t i = 0; i < p; ++i) power = wrapping_mul(power, v);
    return power;
  });
  return x.tape().constant(map(DType::float32, average_integers(powers, average), [p, size](auto mean) {
    using T = decltype(mean);
    return std::pow(mean * static_cast<T>(size), static_cast<T>(1 / static_cast<double>(p)));
  }));
}

// (average of x^p times the window size)^(1/p), as torch composes it; where the average is 0 no gradient flows.
Value power_mean(const Bound& args, std::size_t spatial) {
  const Var input = args.var("input");
  // A power with a float exponent: integers become float32.
  const Var x = is_floating(input.dtype()) ? input : cast(input, DType::float32);
  const double p = args.real("norm_type");
  PoolOptions options;
  options.kernel = args.ints("kernel_size");
  options.stride = args.ints("stride");
  options.ceil_mode = args.flag("ceil_mode");
  Average average;
  average.geometry = sliding_windows(x.tensor(), spatial, options);
  average.divisor = Divisor::with_padding;
  double size = 1;
  for (std::size_t i = 0; i < spatial; ++i)
    size *= static_cast<double>(at_axis(options.kernel, i, spatial, "kernel_size"));
  const auto* order = args.value("norm_type").get<std::int64_t>();
  if (input.dtype() == DType::int64 && order != nullptr && *order >= 0)
    return integer_power_mean(input, average, *order, size);
  const Accumulator accumulator = x.arithmetic().summation.accumulator;
  const DType wide = compute_dtype(x.dtype());
  const Tensor means = average_forward(map(wide, x.tensor(), RealPower(x.context(), p)), average, accumulator);
  const Tensor y = map(x.dtype(), means, [size, root = RealPower(x.context(), 1 / p)](auto mean) {
    return root(mean * static_cast<decltype(mean)>(size));
  });
  const auto slope_of_root = [p, size, lower = RealPower(x.context(), 1 / p - 1)](auto mean, auto gradient) {
    using T = decltype(mean);
    if (mean == T{0}) return T{0};
    const T slope = lower(mean * static_cast<T>(size)) * static_cast<T>(size / p);
    // Frameworks multiply by the sign, which is 0 for what is no number.
    return gradient * (is_nan(mean) ? T{0} * slope : slope);
  };
  const auto slope_of_power = [p, lower = RealPower(x.context(), p - 1)](auto v, auto gradient) {
    return gradient * static_cast<decltype(v)>(p) * lower(v);
  };
  return x.tape().record(y, {{x, [=, &context = x.context(), x = x.tensor()](const Tensor& g) {
                                const Tensor of_means = map(wide, means, g, slope_of_root);
                                const Tensor spread = average_backward(context, of_means, average, x.shape());
                                return map(wide, x, spread, slope_of_power);
                              }}});
}

}  // namespace

OP("avg_pool1d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, "
   "bool count_include_pad=True)",
   [](const Bound& args) { return average_sliding(args, 1, 0); });
NAMES("avg_pool1d", "Functional: avg_pool1d; Torch: avg_pool1d; Aten: avg_pool1d");
TRAITS("avg_pool1d", .half_sums = HalfSums::gradients);

OP("avg_pool2d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, "
   "bool count_include_pad=True, int? divisor_override=None)",
   [](const Bound& args) { return average_sliding(args, 2); });
NAMES("avg_pool2d", "Functional: avg_pool2d; Mint: avg_pool2d; MintFunctional: avg_pool2d; Aten: avg_pool2d");
TRAITS("avg_pool2d", .half_sums = HalfSums::gradients, .element_work = 4);

OP("avg_pool3d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, "
   "bool count_include_pad=True, int? divisor_override=None)",
   [](const Bound& args) { return average_sliding(args, 3); });
NAMES("avg_pool3d", "Functional: avg_pool3d; Aten: avg_pool3d");
TRAITS("avg_pool3d", .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("adaptive_avg_pool1d(Tensor input, any output_size)", [](const Bound& args) { return average_adaptive(args, 1); });
NAMES("adaptive_avg_pool1d",
      "Functional: adaptive_avg_pool1d; Torch: adaptive_avg_pool1d; MintFunctional: adaptive_avg_pool1d; "
      "Aten: adaptive_avg_pool1d");
TRAITS("adaptive_avg_pool1d", .half_sums = HalfSums::gradients);

OP("adaptive_avg_pool2d(Tensor input, any output_size)", [](const Bound& args) { return average_adaptive(args, 2); });
NAMES("adaptive_avg_pool2d",
      "Functional: adaptive_avg_pool2d; Torch: _adaptive_avg_pool2d; MintFunctional: adaptive_avg_pool2d; "
      "Aten: adaptive_avg_pool2d _adaptive_avg_pool2d");
TRAITS("adaptive_avg_pool2d", .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("adaptive_avg_pool3d(Tensor input, any output_size)", [](const Bound& args) { return average_adaptive(args, 3); });
NAMES("adaptive_avg_pool3d", "Functional: adaptive_avg_pool3d; Aten: adaptive_avg_pool3d _adaptive_avg_pool3d");
TRAITS("adaptive_avg_pool3d", .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("lp_pool1d(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False)",
   [](const Bound& args) { return power_mean(args, 1); });
NAMES("lp_pool1d", "Functional: lp_pool1d");
TRAITS("lp_pool1d", .half_sums = HalfSums::gradients, .recorded_gradients = RecordedGradients::of_last_step);

OP("lp_pool2d(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False)",
   [](const Bound& args) { return power_mean(args, 2); });
NAMES("lp_pool2d", "Functional: lp_pool2d");
TRAITS("lp_pool2d", .half_sums = HalfSums::gradients, .recorded_gradients = RecordedGradients::of_last_step);

OP("lp_pool3d(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False)",
   [](const Bound& args) { return power_mean(args, 3); });
NAMES("lp_pool3d", "Functional: lp_pool3d");
TRAITS("lp_pool3d", .half_sums = HalfSums::gradients, .recorded_gradients = RecordedGradients::of_last_step);

}  // namespace msrun
