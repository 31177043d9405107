// Sampling of an image at the positions of a grid, and the grid of an affine map (api_inventory.md 3, pooling).
//
// Images of two spatial axes are volumes of depth 1. For every position the taps (offset in a plane, weight, and the
// derivatives of the weight by the position) are found once and used for all channels.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/roughness.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/tensor/memory.h"
#include "kernels/tensor/recorded_dtypes.h"

namespace msrun {
namespace {

enum class Filter : std::uint8_t { linear, nearest, cubic };
enum class Border : std::uint8_t { zeros, border, reflection };

struct Sampling {
  Filter filter = Filter::linear;
  Border border = Border::zeros;
  bool align_corners = false;
  std::size_t spatial = 2;
  std::int64_t samples = 0;
  std::int64_t channels = 0;
  std::int64_t positions = 0;                 // of one sample
  std::array<std::int64_t, 3> size{1, 1, 1};  // depth, height, width
  Accumulator accumulator = Accumulator::wide;
  Positions held = Positions::wide;  // in the dtype:
  DType stored = DType::float32;
  std::uint32_t jitter_seed = 0;  // of a rough computation (kernels/numeric/roughness.h)

  std::int64_t plane() const { return size[0] * size[1] * size[2]; }
};

// A position in elements and its derivative by the grid's coordinate.
template <class T>
struct Coordinate {
  T at = 0;
  T slope = 0;
};

template <class T>
Coordinate<T> unnormalised(T coordinate, std::int64_t size, const Sampling& sampling) {
  const auto in_half = [&](T value) { return static_cast<T>(stored_in(sampling.stored, static_cast<float>(value))); };
  const T extent = static_cast<T>(size);
  const T slope = (sampling.align_corners ? extent - 1 : extent) / 2;
  if (sampling.held == Positions::stored_by_steps) {
    const T scaled = in_half(in_half(coordinate + 1) * in_half(slope));
    return {sampling.align_corners ? scaled : in_half(scaled - static_cast<T>(0.5)), slope};
  }
  const T at = sampling.align_corners ? (coordinate + 1) / 2 * (extent - 1) : ((coordinate + 1) * extent - 1) / 2;
  return {sampling.held == Positions::stored ? in_half(at) : at, slope};
}

template <class T>
Coordinate<T> clipped(Coordinate<T> c, std::int64_t size) {
  const T last = static_cast<T>(size - 1);
  if (c.at <= 0) return {0, 0};
  if (c.at >= last) return {last, 0};
  return c;
}

// Between the centres of the outer elements with align_corners, between their outer edges without.
template <class T>
Coordinate<T> reflected(Coordinate<T> c, std::int64_t size, bool align_corners) {
  const T low = align_corners ? T{0} : static_cast<T>(-0.5);
  const T span = static_cast<T>(align_corners ? size - 1 : size);
  if (span <= 0) return {0, 0};
  const T distance = std::abs(c.at - low);
  const T sign = c.at < low ? T{-1} : T{1};
  const T extra = std::fmod(distance, span);
  const bool odd = std::fmod(std::floor(distance / span), T{2}) != 0;
  return {odd ? span - extra + low : extra + low, c.slope * sign * (odd ? T{-1} : T{1})};
}

template <class T>
Coordinate<T> bordered(Coordinate<T> c, const Sampling& sampling, std::int64_t size) {
  if (sampling.border == Border::border) c = clipped(c, size);
  if (sampling.border == Border::reflection) c = clipped(reflected(c, size, sampling.align_corners), size);
  // Far outside or not a number: a coordinate that no element has, so that it converts to an integer.
  if (!(c.at > -1e9 && c.at < 1e9)) return {-100, c.slope};
  return c;
}

template <class T>
struct Tap {
  std::int64_t offset = 0;
  T weight = 0;
  std::array<T, 3> slopes{};  // of the weight by the grid's x, y, z
};

template <class T>
struct AxisTap {
  std::int64_t index = 0;  // outside the image where it contributes nothing
  T weight = 0;
  T slope = 0;
};

template <class T>
struct AxisTaps {
  std::array<AxisTap<T>, 4> taps;
  std::size_t count = 0;
  void add(std::int64_t index, T weight, T slope) { taps[count++] = {index, weight, slope}; }
};

// A polynomial between elements whose terms, of that size, cancel: in a rough computation, as in that of interpolate,
// they leave half a place of the largest.
template <class T>
T of_terms(T value, T term, std::uint32_t seed) {
  if (seed == 0) return value;
  const T half_a_place = (std::nextafter(term, std::numeric_limits<T>::infinity()) - term) / 2;
  return word_of(value, seed) % 2 == 0 ? value + half_a_place : value - half_a_place;
}

// Cubic convolution with a = -0.75: weights of the four neighbours of a point t past the second, and their derivatives.
template <class T>
void cubic_weight(T distance, std::uint32_t jitter_seed, T& weight, T& slope) {
  const std::uint32_t seed = distance == std::floor(distance) ? 0 : jitter_seed;
  const T a = static_cast<T>(-0.75);
  const T d = std::abs(distance);
  const T sign = distance < 0 ? T{-1} : T{1};
  if (d <= 1) {
    weight = ((a + 2) * d - (a + 3)) * d * d + 1;
    slope = sign * (3 * (a + 2) * d - 2 * (a + 3)) * d;
  } else {
    weight = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    slope = sign * ((3 * a * d - 10 * a) * d + 8 * a);
  }
  weight = of_terms(weight, d <= 1 ? a + 3 : 8 * std::abs(a), seed);
  slope = of_terms(slope, d <= 1 ? 2 * (a + 3) : 10 * std::abs(a), seed);
}

template <class T>
AxisTaps<T> axis_taps(const Sampling& sampling, T coordinate, std::int64_t size) {
  AxisTaps<T> result;
  const Coordinate<T> raw = unnormalised(coordinate, size, sampling);
  if (sampling.filter == Filter::cubic) {
    // Each neighbour is brought inside by itself; the weights keep the position as it was.
    const Coordinate<T> c = raw.at > -1e9 && raw.at < 1e9 ? raw : Coordinate<T>{-100, raw.slope};
    const T low = std::floor(c.at);
    for (int k = -1; k <= 2; ++k) {
      const T neighbour = low + static_cast<T>(k);
      T weight = 0;
      T slope = 0;
      cubic_weight(c.at - neighbour, sampling.jitter_seed, weight, slope);
      const T inside = bordered(Coordinate<T>{neighbour, 0}, sampling, size).at;
      result.add(static_cast<std::int64_t>(std::floor(inside)), weight, slope * c.slope);
    }
    return result;
  }
  const Coordinate<T> c = bordered(raw, sampling, size);
  if (sampling.filter == Filter::nearest) {
    result.add(static_cast<std::int64_t>(std::nearbyint(c.at)), 1, 0);
    return result;
  }
  const T low = std::floor(c.at);
  const T fraction = c.at - low;
  result.add(static_cast<std::int64_t>(low), 1 - fraction, -c.slope);
  result.add(static_cast<std::int64_t>(low) + 1, fraction, c.slope);
  return result;
}

// Taps of one position; grid holds x, y (and z).
template <class T>
std::size_t find_taps(const Sampling& sampling, const T* grid, std::array<Tap<T>, 16>& taps) {
  std::array<AxisTaps<T>, 3> axes;  // depth, height, width
  axes[2] = axis_taps(sampling, grid[0], sampling.size[2]);
  axes[1] = axis_taps(sampling, grid[1], sampling.size[1]);
  if (sampling.spatial == 3) {
    axes[0] = axis_taps(sampling, grid[2], sampling.size[0]);
  } else {
    axes[0].add(0, 1, 0);
  }
  const auto inside = [&](const AxisTap<T>& tap, std::size_t axis) {
    return tap.index >= 0 && tap.index < sampling.size[axis];
  };
  std::size_t count = 0;
  for (std::size_t i = 0; i < axes[0].count; ++i) {
    const AxisTap<T>& z = axes[0].taps[i];
    for (std::size_t j = 0; inside(z, 0) && j < axes[1].count; ++j) {
      const AxisTap<T>& y = axes[1].taps[j];
      for (std::size_t k = 0; inside(y, 1) && k < axes[2].count; ++k) {
        const AxisTap<T>& x = axes[2].taps[k];
        if (!inside(x, 2)) continue;
        taps[count++] = {(z.index * sampling.size[1] + y.index) * sampling.size[2] + x.index,
                         z.weight * y.weight * x.weight,
                         {z.weight * y.weight * x.slope, z.weight * y.slope * x.weight, z.slope * y.weight * x.weight}};
      }
    }
  }
  return count;
}

template <Accumulator A, class T>
void sample_forward(const Sampling& sampling, const T* image, const T* grid, T* out) {
  std::array<Tap<T>, 16> taps;
  const auto axes = static_cast<std::int64_t>(sampling.spatial);
  for (std::int64_t p = 0; p < sampling.positions; ++p) {
    const std::size_t count = find_taps(sampling, grid + p * axes, taps);
    for (std::int64_t c = 0; c < sampling.channels; ++c) {
      T total = 0;
      for (std::size_t k = 0; k < count; ++k) {
        total = add_step<A>(total, taps[k].weight * image[c * sampling.plane() + taps[k].offset]);
      }
      out[c * sampling.positions + p] = total;
    }
  }
}

// Both results are zero on entry.
template <Accumulator A, class T>
void sample_backward(const Sampling& sampling, const T* image, const T* grid, const T* g, T* of_image, T* of_grid) {
  std::array<Tap<T>, 16> taps;
  const auto axes = static_cast<std::int64_t>(sampling.spatial);
  for (std::int64_t p = 0; p < sampling.positions; ++p) {
    const std::size_t count = find_taps(sampling, grid + p * axes, taps);
    for (std::int64_t c = 0; c < sampling.channels; ++c) {
      const T upstream = g[c * sampling.positions + p];
      for (std::size_t k = 0; k < count; ++k) {
        const std::int64_t at = c * sampling.plane() + taps[k].offset;
        of_image[at] = add_step<A>(of_image[at], taps[k].weight * upstream);
        // The nearest element does not depend on where exactly the position is.
        for (std::size_t axis = 0; sampling.filter != Filter::nearest && axis < sampling.spatial; ++axis) {
          T& sum = of_grid[p * axes + static_cast<std::int64_t>(axis)];
          sum = add_step<A>(sum, taps[k].slopes[axis] * image[at] * upstream);
        }
      }
    }
  }
}

Var grid_sample(const Var& x, const Var& grid, Sampling sampling) {
  if (x.rank() != 4 && x.rank() != 5)
    throw SkipError("grid_sample expects an input of 4 or 5 dimensions, not " + tuple_text(x.shape()) + ".");
  sampling.spatial = static_cast<std::size_t>(x.rank() - 2);
  if (grid.rank() != x.rank() || grid.size(0) != x.size(0) ||
      grid.size(-1) != static_cast<std::int64_t>(sampling.spatial)) {
    throw SkipError("grid_sample: a grid of shape " + tuple_text(grid.shape()) + " does not fit an input of shape " +
                    tuple_text(x.shape()) + ".");
  }
  if (!is_floating(x.dtype()) || !is_floating(grid.dtype()))
    throw SkipError("grid_sample expects floating point tensors.");
  if (sampling.filter == Filter::cubic && sampling.spatial != 2)
    throw SkipError("grid_sample: bicubic interpolation only supports 4D input");
  sampling.samples = x.size(0);
  sampling.channels = x.size(1);
  Dims shape{x.size(0), x.size(1)};
  for (std::size_t i = 0; i < sampling.spatial; ++i) {
    sampling.size[3 - sampling.spatial + i] = x.shape()[i + 2];
    if (x.shape()[i + 2] < 1) throw SkipError("grid_sample expects an input with non-empty spatial dimensions.");
    shape.push_back(grid.shape()[i + 1]);
  }
  require_bounded(x.shape());
  require_bounded(grid.shape());
  require_bounded(shape);
  sampling.positions = element_count(std::span(shape.data() + 2, sampling.spatial));
  sampling.accumulator = x.arithmetic().summation.accumulator;
  sampling.jitter_seed = x.context().jitter_seed;
  sampling.stored = x.context().recorded_dtype(grid.dtype());
  if (is_half(sampling.stored)) sampling.held = x.context().positions();
  const DType wide = compute_dtype(x.dtype());
  const auto prepare = [wide](const Tensor& tensor) { return tensor.to(wide).contiguous(); };
  const std::int64_t image_size = sampling.channels * sampling.plane();
  const std::int64_t grid_size = sampling.positions * static_cast<std::int64_t>(sampling.spatial);
  const std::int64_t result_size = sampling.channels * sampling.positions;
  Tensor y(wide, shape);
  visit_compute(wide, [&](auto element) {
    using T = decltype(element);
    const Tensor image = prepare(x.tensor());
    const Tensor positions = prepare(grid.tensor());
    for (std::int64_t n = 0; n < sampling.samples; ++n) {
      with_accumulator(sampling.accumulator, [&]<Accumulator A>(std::integral_constant<Accumulator, A>) {
        sample_forward<A>(sampling, image.data<T>() + n * image_size, positions.data<T>() + n * grid_size,
                          y.mutable_data<T>() + n * result_size);
      });
    }
  });
  return x.tape().record(y.to(x.dtype()), {x, grid}, [=, x = x.tensor(), grid = grid.tensor()](const Tensor& gradient) {
    const Tensor image = prepare(x);
    const Tensor positions = prepare(grid);
    const Tensor g = prepare(gradient);
    Tensor of_image = Tensor::zeros(wide, x.shape());
    Tensor of_grid = Tensor::zeros(wide, grid.shape());
    visit_compute(wide, [&](auto element) {
      using T = decltype(element);
      for (std::int64_t n = 0; n < sampling.samples; ++n) {
        with_accumulator(sampling.accumulator, [&]<Accumulator A>(std::integral_constant<Accumulator, A>) {
          sample_backward<A>(sampling, image.data<T>() + n * image_size, positions.data<T>() + n * grid_size,
                             g.data<T>() + n * result_size, of_image.mutable_data<T>() + n * image_size,
                             of_grid.mutable_data<T>() + n * grid_size);
        });
      }
    });
    return std::vector<Tensor>{of_image, of_grid};
  });
}

// Aten's codes of the modes.
Value grid_sampler(const Bound& args) {
  const std::int64_t filter = args.integer("interpolation_mode");
  const std::int64_t border = args.integer("padding_mode");
  if (filter < 0 || filter > 2 || border < 0 || border > 2)
    throw SkipError("grid_sampler: the modes must be 0, 1 or 2.");
  Sampling sampling;
  sampling.filter = filter == 0 ? Filter::linear : filter == 1 ? Filter::nearest : Filter::cubic;
  sampling.border = border == 0 ? Border::zeros : border == 1 ? Border::border : Border::reflection;
  sampling.align_corners = args.flag("align_corners");
  return grid_sample(args.var("input"), args.var("grid"), sampling);
}

// Coordinates -1 ... 1 of the elements along an axis, as grid_sample reads them. Devices add them up from -1 in the
// dtype of the call, so that all of them, 0 as well, are off by a place of 1 (kernels/numeric/roughness.h).
std::vector<double> base_coordinates(std::int64_t size, bool align_corners, std::uint32_t seed) {
  check_tensor_memory(static_cast<std::size_t>(size), sizeof(double));
  std::vector<double> result(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) {
    const double at = static_cast<double>(2 * i);
    double& value = result[static_cast<std::size_t>(i)];
    if (align_corners) {
      value = size > 1 ? at / static_cast<double>(size - 1) - 1 : 0;
    } else {
      value = (at + 1) / static_cast<double>(size) - 1;
    }
    if (seed != 0) value = 2 + static_cast<double>(rough_step(static_cast<float>(value - 2), seed));
  }
  return result;
}

struct BaseGrid {
  std::array<std::vector<double>, 3> axes{{{0}, {0}, {0}}};  // depth, height, width
  std::size_t spatial = 2;

  // Calls visit(position, (x, y, 1) or (x, y, z, 1)) for every position.
  template <class T, class Visit>
  void for_each(const Visit& visit) const {
    std::int64_t position = 0;
    std::array<T, 4> base{};
    base[spatial] = 1;
    for (const double z : axes[0]) {
      if (spatial == 3) base[2] = static_cast<T>(z);
      for (const double y : axes[1]) {
        base[1] = static_cast<T>(y);
        for (const double x : axes[2]) {
          base[0] = static_cast<T>(x);
          visit(position++, base);
        }
      }
    }
  }
};

Var affine_grid(const Var& theta, const Dims& size, bool align_corners) {
  if (!is_floating(theta.dtype())) throw SkipError("affine_grid expects theta to have a floating point type.");
  if (size.size() != 4 && size.size() != 5) throw SkipError("affine_grid expects a size of 4 or 5 numbers.");
  const auto spatial = static_cast<std::int64_t>(size.size()) - 2;
  if (theta.shape() != Dims{size[0], spatial, spatial + 1}) {
    throw SkipError("affine_grid expects theta of shape " + tuple_text(Dims{size[0], spatial, spatial + 1}) +
                    " for size " + tuple_text(size) + ", but got " + tuple_text(theta.shape()) + ".");
  }
  Dims shape{size[0]};
  for (std::size_t i = 2; i < size.size(); ++i) {
    if (size[i] < 1) throw SkipError("affine_grid expects non-zero, positive output sizes.");
    shape.push_back(size[i]);
  }
  shape.push_back(spatial);
  require_bounded(shape);
  const DType wide = compute_dtype(theta.dtype());
  Tensor grid(wide, shape);
  BaseGrid base;
  base.spatial = static_cast<std::size_t>(spatial);
  for (std::size_t i = 2; i < size.size(); ++i)
    base.axes[i + 1 - base.spatial] = base_coordinates(size[i], align_corners, theta.context().jitter_seed);
  const std::int64_t samples = size[0];
  const std::int64_t sample_size = samples == 0 ? 0 : grid.numel() / samples;
  const Tensor maps = to_compute(theta.tensor());
  visit_compute(wide, [&](auto element) {
    using T = decltype(element);
    for (std::int64_t n = 0; n < samples; ++n) {
      const T* map = maps.data<T>() + n * spatial * (spatial + 1);
      T* out = grid.mutable_data<T>() + n * sample_size;
      base.for_each<T>([&](std::int64_t position, const std::array<T, 4>& point) {
        for (std::int64_t i = 0; i < spatial; ++i) {
          T total = 0;
          for (std::int64_t j = 0; j <= spatial; ++j)
            total += map[i * (spatial + 1) + j] * point[static_cast<std::size_t>(j)];
          out[position * spatial + i] = total;
        }
      });
    }
  });
  return theta.tape().record(
      grid.to(theta.dtype()),
      {{theta, [=, accumulator = theta.arithmetic().summation.accumulator,
                theta_shape = theta.shape()](const Tensor& gradient) {
          const Tensor g = to_compute(gradient);
          Tensor result = Tensor::zeros(wide, theta_shape);
          visit_compute(wide, [&](auto element) {
            using T = decltype(element);
            for (std::int64_t n = 0; n < samples; ++n) {
              // In double, because every position of the sample is added.
              std::array<double, 12> sums{};
              const T* from = g.data<T>() + n * sample_size;
              base.for_each<T>([&](std::int64_t position, const std::array<T, 4>& point) {
                for (std::int64_t i = 0; i < spatial; ++i) {
                  for (std::int64_t j = 0; j <= spatial; ++j) {
                    double& sum = sums[static_cast<std::size_t>(i * (spatial + 1) + j)];
                    const T product = from[position * spatial + i] * point[static_cast<std::size_t>(j)];
                    sum = accumulator == Accumulator::wide
                              ? sum + static_cast<double>(product)
                              : static_cast<double>(add_step(static_cast<T>(sum), product, accumulator));
                  }
                }
              });
              for (std::int64_t k = 0; k < spatial * (spatial + 1); ++k) {
                result.mutable_data<T>()[n * spatial * (spatial + 1) + k] =
                    static_cast<T>(sums[static_cast<std::size_t>(k)]);
              }
            }
          });
          return result;
        }}});
}

}  // namespace

OP("grid_sample(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', bool? align_corners=None)",
   [](const Bound& args) -> Value {
     const std::string& mode = args.text("mode");
     const std::string& border = args.text("padding_mode");
     if (mode != "bilinear" && mode != "nearest" && mode != "bicubic")
       throw SkipError("grid_sample: the mode " + mode + " is not known.");
     if (border != "zeros" && border != "border" && border != "reflection")
       throw SkipError("grid_sample: the padding mode " + border + " is not known.");
     Sampling sampling;
     sampling.filter = mode == "bilinear" ? Filter::linear : mode == "nearest" ? Filter::nearest : Filter::cubic;
     sampling.border = border == "zeros" ? Border::zeros : border == "border" ? Border::border : Border::reflection;
     sampling.align_corners = args.given("align_corners") && args.flag("align_corners");
     return grid_sample(args.var("input"), args.var("grid"), sampling);
   });
NAMES("grid_sample", "Functional: grid_sample; Mint: grid_sample; MintFunctional: grid_sample");
TRAITS("grid_sample", .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners)",
   [](const Bound& args) { return grid_sampler(args); });
NAMES("grid_sampler",
      "Torch: grid_sampler grid_sampler_2d grid_sampler_3d; Aten: grid_sampler grid_sampler_2d grid_sampler_3d");
TRAITS("grid_sampler", .varies = Varies::gradients, .half_sums = HalfSums::gradients);

OP("affine_grid(Tensor theta, int[] size, bool? align_corners=None)", [](const Bound& args) -> Value {
  return affine_grid(args.var("theta"), args.ints("size"), args.given("align_corners") && args.flag("align_corners"));
});
NAMES("affine_grid", "Functional: affine_grid; Torch: affine_grid_generator; Aten: affine_grid_generator");

}  // namespace msrun
