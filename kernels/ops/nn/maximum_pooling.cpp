// Maximum pooling over windows of one to three spatial axes, and its inverse (api_inventory.md 3, pooling).
//
// Sliding windows are computed a slice of outputs at a time (pooling_runs.h), all others window by window.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/pooling_runs.h"
#include "kernels/numeric/pooling_windows.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/nn/pooling_options.h"
#include "kernels/tensor/memory.h"

namespace msrun {
namespace {

// The maxima and their positions as maximum_forward has them, a slice of outputs at a time.
template <class T>
void maximum_runs(const Tensor& x, const Geometry& geometry, Tensor& y, Tensor& index) {
  using Position = std::conditional_t<std::is_same_v<T, float>, std::int32_t, std::int64_t>;
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  const PoolAxis& rows = geometry.axes[1];
  const PoolAxis& columns = geometry.axes[2];
  SplitPlane<T> plane(geometry, lowest);
  const std::int64_t run = plane.run();
  // For every output the corner of its window in slice 0, which may lie in the padding, and its first real element.
  std::vector<Position> corners(static_cast<std::size_t>(run));
  std::vector<Position> firsts(corners.size(), Position{-1});
  std::vector<Position> positions(corners.size());
  std::vector<T> maxima(corners.size());
  for (std::int64_t h = 0; h < rows.out; ++h) {
    for (std::int64_t w = 0; w < columns.out; ++w) {
      const auto at = static_cast<std::size_t>(h * plane.pitch() + w);
      const Window& row = rows.windows[static_cast<std::size_t>(h)];
      const Window& column = columns.windows[static_cast<std::size_t>(w)];
      corners[at] =
          static_cast<Position>((h * rows.stride - rows.padding) * columns.in + w * columns.stride - columns.padding);
      if (row.start < row.stop && column.start < column.stop) {
        firsts[at] = static_cast<Position>(row.start * columns.in + column.start);
      }
    }
  }
  const Position* corner = corners.data();
  const Position* first = firsts.data();
  Position* best_at = positions.data();
  T* best = maxima.data();
  for (std::int64_t p = 0; p < geometry.planes; ++p) {
    plane.load(x.data<T>() + p * geometry.input_plane());
    T* to = y.mutable_data<T>() + p * geometry.output_plane();
    std::int64_t* at = index.mutable_data<std::int64_t>() + p * geometry.output_plane();
    for (const Window& d : geometry.axes[0].windows) {
      const auto skipped = static_cast<Position>(d.start * rows.in * columns.in);
      const bool any = d.start < d.stop;
      for (std::int64_t i = 0; i < run; ++i) {
        best[i] = lowest;
        best_at[i] = any && first[i] >= 0 ? first[i] + skipped : Position{-1};
      }
      plane.for_each_position(d, [&](const T* values, std::int64_t offset) {
        const auto farther = static_cast<Position>(offset);
        for (std::int64_t i = 0; i < run; ++i) {
          const T value = values[i];
          // NaN wins; std::isnan would keep the loop from becoming vector code.
          const bool wins = (value > best[i]) | (value != value);  // NOLINT(misc-redundant-expression)
          best[i] = wins ? value : best[i];
          best_at[i] = wins ? corner[i] + farther : best_at[i];
        }
      });
      for_each_output_row(geometry, plane, [&](std::int64_t from, std::int64_t row) {
        std::copy_n(best + from, columns.out, to + row);
        std::copy_n(best_at + from, columns.out, at + row);
      });
      to += rows.out * columns.out;
      at += rows.out * columns.out;
    }
  }
}

// The maxima and their positions in the input plane. A window that lies in the padding alone gives -inf and position
// -1.
template <class T>
void maximum_forward(const Tensor& x, const Geometry& geometry, Tensor& y, Tensor& index) {
  if (suits_runs(geometry)) {
    maximum_runs<T>(x, geometry, y, index);
    return;
  }
  const std::int64_t step = geometry.axes[2].step;
  for (std::int64_t plane = 0; plane < geometry.planes; ++plane) {
    const T* from = x.data<T>() + plane * geometry.input_plane();
    T* to = y.mutable_data<T>() + plane * geometry.output_plane();
    std::int64_t* at = index.mutable_data<std::int64_t>() + plane * geometry.output_plane();
    for_each_window(geometry, [&](const Window& d, const Window& h, const Window& w, std::int64_t position) {
      T best = -std::numeric_limits<T>::infinity();
      std::int64_t best_at = -1;
      for_each_run(geometry, d, h, w, [&](std::int64_t start, std::int64_t count) {
        if (best_at < 0 && count > 0) best_at = start;
        for (std::int64_t i = start; count > 0; i += step, --count) {
          const T value = from[i];
          if (value > best || std::isnan(value)) {
            best = value;
            best_at = i;
          }
        }
      });
      to[position] = best;
      at[position] = best_at;
    });
  }
}

// Adds every element of source to the plane position that index names; negative positions are passed over.
Tensor scatter_planes(const Tensor& source, const Tensor& index, const Dims& shape, std::int64_t planes,
                      Accumulator accumulator) {
  const Tensor values = to_compute(source);
  Tensor result = Tensor::zeros(values.dtype(), shape);
  if (values.numel() == 0) return result;
  const std::int64_t from_plane = values.numel() / planes;
  const std::int64_t to_plane = result.numel() / planes;
  visit_compute(values.dtype(), [&](auto element) {
    using T = decltype(element);
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      const T* from = values.data<T>() + plane * from_plane;
      const std::int64_t* at = index.data<std::int64_t>() + plane * from_plane;
      T* to = result.mutable_data<T>() + plane * to_plane;
      for (std::int64_t i = 0; i < from_plane; ++i) {
        if (at[i] >= 0) to[at[i]] = add_step(to[at[i]], from[i], accumulator);
      }
    }
  });
  return result;
}

void note_gradient_of(const EvaluationContext& context, const Tensor& index, const Tensor& gradient) {
  Choices* choices = context.choices();
  if (choices == nullptr || !choices->windows || choices->windows->index.raw() != index.raw()) return;
  choices->windows->gradient = gradient;
}

struct Maximum {
  Var y;
  Var index;
};

Maximum maximum_pool(const Var& input, const Geometry& geometry) {
  // Integers are exact in double up to 2^53.
  const DType wide = is_floating(input.dtype()) ? compute_dtype(input.dtype()) : DType::float64;
  const Tensor x = input.tensor().to(wide).contiguous();
  Tensor y(wide, geometry.result_shape);
  Tensor index(DType::int64, geometry.result_shape);
  if (y.numel() > 0) {
    visit_compute(wide, [&](auto element) { maximum_forward<decltype(element)>(x, geometry, y, index); });
  }
  if (Choices* choices = input.context().choices()) choices->windows = WindowPicks{geometry, index, {}};
  Tape& tape = input.tape();
  return {tape.record(
              y.to(input.dtype()),
              {{input,
                [index, shape = input.shape(), planes = geometry.planes, windows = most_windows(geometry),
                 accumulator = tape.arithmetic().summation.accumulator, &context = tape.context()](const Tensor& g) {
                  note_gradient_of(context, index, g);
                  // An element may be the largest of all windows that it lies in.
                  context.note_sums(windows, element_count(shape));
                  return scatter_planes(g, index, shape, planes, accumulator);
                }}}),
          tape.constant(index)};
}

Value tuple(const Maximum& maximum) { return List{maximum.y, maximum.index}; }

Maximum maximum_sliding(const Bound& args, std::size_t spatial) {
  const Var x = args.var("input");
  PoolOptions options = pool_options(args);
  options.dilation = args.ints("dilation");
  return maximum_pool(x, sliding_windows(x.tensor(), spatial, options));
}

Maximum maximum_adaptive(const Bound& args, std::size_t spatial) {
  const Var x = args.var("input");
  return maximum_pool(x, adaptive_windows(x.tensor(), spatial, args.value("output_size")));
}

Value maximum_sliding_or_tuple(const Bound& args, std::size_t spatial) {
  const Maximum maximum = maximum_sliding(args, spatial);
  return args.flag("return_indices") ? tuple(maximum) : Value(maximum.y);
}

Value maximum_adaptive_or_tuple(const Bound& args, std::size_t spatial) {
  const Maximum maximum = maximum_adaptive(args, spatial);
  return args.flag("return_indices") ? tuple(maximum) : Value(maximum.y);
}

// Puts the values back where max pooling found them; the other elements are 0.
Var unpool(const Var& x, const Tensor& index_tensor, std::size_t spatial, const Dims& output_size) {
  const std::size_t rank = x.shape().size();
  if (rank != spatial + 1 && rank != spatial + 2) {
    throw SkipError("max_unpool: the input of shape " + tuple_text(x.shape()) + " has the wrong number of dimensions.");
  }
  if (index_tensor.shape() != x.shape() || is_floating(index_tensor.dtype())) {
    throw SkipError("max_unpool: indices must be integers of the shape of the input.");
  }
  if (output_size.size() != spatial)
    throw SkipError("max_unpool: output_size must have " + std::to_string(spatial) + " sizes.");
  require_bounded(x.shape());
  Dims shape = x.shape();
  std::int64_t planes = 1;
  for (std::size_t i = 0; i < rank - spatial; ++i) planes *= shape[i];
  std::copy(output_size.begin(), output_size.end(), shape.end() - static_cast<std::ptrdiff_t>(spatial));
  const std::int64_t plane = element_count(output_size);
  const Tensor index = index_tensor.to(DType::int64).contiguous();
  const auto selection = std::make_shared<Selection>();
  selection->shape = x.shape();
  check_tensor_memory(static_cast<std::size_t>(index.numel()), sizeof(std::int64_t));
  selection->starts.reserve(static_cast<std::size_t>(index.numel()));
  for (std::int64_t i = 0; i < index.numel(); ++i) {
    const std::int64_t at = index.data<std::int64_t>()[i];
    if (at < 0 || at >= plane) {
      throw SkipError("max_unpool: found an invalid max index " + std::to_string(at) + " for an output of " +
                      std::to_string(plane) + " elements.");
    }
    selection->starts.push_back(i / (index.numel() / planes) * plane + at);
  }
  if (Choices* choices = x.context().choices()) choices->writes = Writes{selection, x.tensor()};
  return x.tape().record(put(Tensor::zeros(x.dtype(), shape), *selection, x.tensor()),
                         {{x, [selection](const Tensor& gradient) { return take(gradient, *selection); }}});
}

Value unpool_sliding(const Bound& args, std::size_t spatial) {
  const Var x = args.var("input");
  Dims size = args.ints("output_size");
  if (size.empty()) {
    const Dims kernel = args.ints("kernel_size");
    const Dims stride = args.ints("stride");
    const Dims padding = args.ints("padding");
    for (std::size_t i = 0; i < spatial; ++i) {
      const std::int64_t k = at_axis(kernel, i, spatial, "kernel_size");
      const std::int64_t s = stride.empty() ? k : at_axis(stride, i, spatial, "stride");
      const std::int64_t in = x.rank() < static_cast<std::int64_t>(spatial)
                                  ? 1
                                  : x.size(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(spatial));
      size.push_back((in - 1) * s - 2 * at_axis(padding, i, spatial, "padding") + k);
    }
  } else if (size.size() > spatial) {
    size = Dims(size.end() - static_cast<std::ptrdiff_t>(spatial), size.end());
  }
  return unpool(x, args.var("indices").tensor(), spatial, size);
}

}  // namespace

OP("max_pool1d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, "
   "bool ceil_mode=False, bool return_indices=False)",
   [](const Bound& args) { return maximum_sliding_or_tuple(args, 1); });
NAMES("max_pool1d", "Functional: max_pool1d _max_pool1d; Torch: max_pool1d; Aten: max_pool1d");
TRAITS("max_pool1d", .ranks = true, .half_sums = HalfSums::gradients,
       .recorded_gradients = RecordedGradients::of_last_step);

OP("max_pool2d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, "
   "bool ceil_mode=False, bool return_indices=False)",
   [](const Bound& args) { return maximum_sliding_or_tuple(args, 2); });
NAMES("max_pool2d",
      "Functional: max_pool2d _max_pool2d; Torch: max_pool2d; Mint: max_pool2d; MintFunctional: max_pool2d "
      "max_pool2d_ex; Aten: max_pool2d");
TRAITS("max_pool2d", .ranks = true, .half_sums = HalfSums::gradients, .element_work = 4);

OP("max_pool3d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, "
   "bool ceil_mode=False, bool return_indices=False)",
   [](const Bound& args) { return maximum_sliding_or_tuple(args, 3); });
NAMES("max_pool3d", "Functional: max_pool3d _max_pool3d; Torch: max_pool3d; Aten: max_pool3d");
TRAITS("max_pool3d", .ranks = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("max_pool1d_with_indices(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, "
   "bool ceil_mode=False, bool return_indices=True)",
   [](const Bound& args) { return tuple(maximum_sliding(args, 1)); });
NAMES("max_pool1d_with_indices",
      "Functional: max_pool1d_with_indices; Torch: max_pool1d_with_indices; Aten: max_pool1d_with_indices");
TRAITS("max_pool1d_with_indices", .ranks = true, .half_sums = HalfSums::gradients);

OP("max_pool2d_with_indices(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, "
   "bool ceil_mode=False, bool return_indices=True)",
   [](const Bound& args) { return tuple(maximum_sliding(args, 2)); });
NAMES("max_pool2d_with_indices", "Functional: max_pool2d_with_indices; Aten: max_pool2d_with_indices");
TRAITS("max_pool2d_with_indices", .ranks = true, .half_sums = HalfSums::gradients);

OP("max_pool3d_with_indices(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, "
   "bool ceil_mode=False, bool return_indices=True)",
   [](const Bound& args) { return tuple(maximum_sliding(args, 3)); });
NAMES("max_pool3d_with_indices", "Functional: max_pool3d_with_indices; Aten: max_pool3d_with_indices");
TRAITS("max_pool3d_with_indices", .ranks = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("adaptive_max_pool1d(Tensor input, any output_size, bool return_indices=False)",
   [](const Bound& args) { return maximum_adaptive_or_tuple(args, 1); });
NAMES("adaptive_max_pool1d", "Functional: adaptive_max_pool1d _adaptive_max_pool1d");
TRAITS("adaptive_max_pool1d", .ranks = true, .half_sums = HalfSums::gradients,
       .recorded_gradients = RecordedGradients::of_last_step);

OP("adaptive_max_pool2d(Tensor input, any output_size, bool return_indices=False)",
   [](const Bound& args) { return maximum_adaptive_or_tuple(args, 2); });
NAMES("adaptive_max_pool2d", "Functional: adaptive_max_pool2d _adaptive_max_pool2d");
TRAITS("adaptive_max_pool2d", .ranks = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("adaptive_max_pool3d(Tensor input, any output_size, bool return_indices=False)",
   [](const Bound& args) { return maximum_adaptive_or_tuple(args, 3); });
NAMES("adaptive_max_pool3d", "Functional: adaptive_max_pool3d _adaptive_max_pool3d");
TRAITS("adaptive_max_pool3d", .ranks = true, .half_sums = HalfSums::gradients);

OP("adaptive_max_pool1d_with_indices(Tensor input, any output_size, bool return_indices=True)",
   [](const Bound& args) { return tuple(maximum_adaptive(args, 1)); });
NAMES("adaptive_max_pool1d_with_indices",
      "Functional: adaptive_max_pool1d_with_indices; Torch: adaptive_max_pool1d; Aten: adaptive_max_pool1d");
TRAITS("adaptive_max_pool1d_with_indices", .ranks = true, .half_sums = HalfSums::gradients,
       .recorded_gradients = RecordedGradients::of_last_step);

OP("adaptive_max_pool2d_with_indices(Tensor input, any output_size, bool return_indices=True)",
   [](const Bound& args) { return tuple(maximum_adaptive(args, 2)); });
NAMES("adaptive_max_pool2d_with_indices", "Functional: adaptive_max_pool2d_with_indices; Aten: adaptive_max_pool2d");
TRAITS("adaptive_max_pool2d_with_indices", .ranks = true, .varies = Varies::gradients,
       .half_sums = HalfSums::gradients);

OP("adaptive_max_pool3d_with_indices(Tensor input, any output_size, bool return_indices=True)",
   [](const Bound& args) { return tuple(maximum_adaptive(args, 3)); });
NAMES("adaptive_max_pool3d_with_indices", "Functional: adaptive_max_pool3d_with_indices; Aten: adaptive_max_pool3d");
TRAITS("adaptive_max_pool3d_with_indices", .ranks = true, .half_sums = HalfSums::gradients);

OP("max_unpool1d(Tensor input, Tensor indices, int[] kernel_size, int[]? stride=None, int[] padding=0, "
   "int[]? output_size=None)",
   [](const Bound& args) { return unpool_sliding(args, 1); });
NAMES("max_unpool1d", "Functional: max_unpool1d");
TRAITS("max_unpool1d", .overwrites = true, .varies = Varies::results);

OP("max_unpool2d(Tensor input, Tensor indices, int[] kernel_size, int[]? stride=None, int[] padding=0, "
   "int[]? output_size=None)",
   [](const Bound& args) { return unpool_sliding(args, 2); });
NAMES("max_unpool2d", "Functional: max_unpool2d");
TRAITS("max_unpool2d", .overwrites = true, .varies = Varies::results);

OP("max_unpool3d(Tensor input, Tensor indices, int[] kernel_size, int[]? stride=None, int[] padding=0, "
   "int[]? output_size=None)",
   [](const Bound& args) { return unpool_sliding(args, 3); });
NAMES("max_unpool3d", "Functional: max_unpool3d");
TRAITS("max_unpool3d", .overwrites = true, .varies = Varies::results);

OP("aten_max_unpool2d(Tensor input, Tensor indices, int[] output_size)", [](const Bound& args) -> Value {
  return unpool(args.var("input"), args.var("indices").tensor(), 2, args.ints("output_size"));
});
NAMES("aten_max_unpool2d", "Aten: max_unpool2d");
TRAITS("aten_max_unpool2d", .overwrites = true, .varies = Varies::results);

OP("aten_max_unpool3d(Tensor input, Tensor indices, int[] output_size, int[] stride, int[] padding)",
   [](const Bound& args) -> Value {
     return unpool(args.var("input"), args.var("indices").tensor(), 3, args.ints("output_size"));
   });
NAMES("aten_max_unpool3d", "Aten: max_unpool3d");
TRAITS("aten_max_unpool3d", .overwrites = true, .varies = Varies::results);

}  // namespace msrun
