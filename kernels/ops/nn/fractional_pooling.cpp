// Fractional max pooling: windows of one size at steps that vary between two whole numbers, given by a random sample of
// every channel. With the samples recorded the result is determined; without them the call is random.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/functions.h"

namespace msrun {
namespace {

// Sizes of the last three axes; two-dimensional pooling has a first axis of size 1.
struct Fractional {
  std::array<std::int64_t, 3> in{1, 1, 1};
  std::array<std::int64_t, 3> out{1, 1, 1};
  std::array<std::int64_t, 3> kernel{1, 1, 1};
};

// One or `spatial` numbers from a list.
template <class List>
auto at_axis(const List& values, std::size_t axis, std::size_t spatial, const char* what) {
  if (values.size() != 1 && values.size() != spatial) {
    throw SkipError(std::string("fractional_max_pool: ") + what + " must be one number or " + std::to_string(spatial) +
                    " numbers.");
  }
  return values.size() == 1 ? values[0] : values[axis];
}

Fractional sizes_of(const Bound& args, const Var& x, std::size_t spatial) {
  const Dims kernel = args.ints("kernel_size");
  const bool ratio = !args.given("output_size");
  if (ratio && !args.given("output_ratio")) {
    throw SkipError("fractional_max_pool needs output_size or output_ratio.");
  }
  Fractional sizes;
  for (std::size_t axis = 0; axis < spatial; ++axis) {
    const std::size_t at = 3 - spatial + axis;
    sizes.in[at] = x.size(static_cast<std::int64_t>(axis) - static_cast<std::int64_t>(spatial));
    sizes.kernel[at] = at_axis(kernel, axis, spatial, "kernel_size");
    if (ratio) {
      const double share = at_axis(args.reals("output_ratio"), axis, spatial, "output_ratio");
      if (!(share > 0 && share < 1)) throw SkipError("fractional_max_pool: output_ratio must be between 0 and 1.");
      sizes.out[at] = static_cast<std::int64_t>(static_cast<double>(sizes.in[at]) * share);
    } else {
      sizes.out[at] = at_axis(args.ints("output_size"), axis, spatial, "output_size");
    }
    if (sizes.kernel[at] < 1 || sizes.out[at] < 1 || sizes.kernel[at] > sizes.in[at] ||
        sizes.out[at] > sizes.in[at] - sizes.kernel[at] + 1) {
      throw SkipError("fractional_max_pool: windows of " + std::to_string(sizes.kernel[at]) + " do not give " +
                      std::to_string(sizes.out[at]) + " outputs over " + std::to_string(sizes.in[at]) + " elements.");
    }
  }
  return sizes;
}

// The first element of every window along one axis.
std::vector<std::int64_t> window_starts(double sample, std::int64_t in, std::int64_t out, std::int64_t kernel) {
  std::vector<std::int64_t> starts(static_cast<std::size_t>(out), in - kernel);
  const double alpha = out > 1 ? static_cast<double>(in - kernel) / static_cast<double>(out - 1) : 0;
  const double first = std::trunc(sample * alpha);
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    starts[i] = static_cast<std::int64_t>(std::trunc((static_cast<double>(i) + sample) * alpha) - first);
  }
  return starts;
}

// For every output the position of the first largest element of its window in the plane; NaN is the largest.
template <class T>
void find_largest(const T* plane, const Fractional& sizes, const std::array<std::vector<std::int64_t>, 3>& starts,
                  std::int64_t* index) {
  for (const std::int64_t a : starts[0]) {
    for (const std::int64_t b : starts[1]) {
      for (const std::int64_t c : starts[2]) {
        std::int64_t best = (a * sizes.in[1] + b) * sizes.in[2] + c;
        for (std::int64_t i = a; i < a + sizes.kernel[0]; ++i) {
          for (std::int64_t j = b; j < b + sizes.kernel[1]; ++j) {
            const std::int64_t row = (i * sizes.in[1] + j) * sizes.in[2];
            for (std::int64_t at = row + c; at < row + c + sizes.kernel[2]; ++at) {
              if (plane[at] > plane[best] || (std::isnan(plane[at]) && !std::isnan(plane[best]))) best = at;
            }
          }
        }
        *index++ = best;
      }
    }
  }
}

// (values, positions), or the values alone.
Value fractional_max_pool(const Bound& args, std::size_t spatial, const char* samples_name, bool with_indices) {
  if (!args.given(samples_name)) {
    throw SkipError(
        "fractional_max_pool without _random_samples draws random numbers: there is no expected result to "
        "compare with.");
  }
  const Var x = args.var("input");
  const auto rank = static_cast<std::size_t>(x.rank());
  if ((rank != spatial + 1 && rank != spatial + 2) || x.numel() == 0 || !is_floating(x.dtype())) {
    throw SkipError("fractional_max_pool over " + std::to_string(spatial) + " axes does not take an input of shape " +
                    tuple_text(x.shape()) + ".");
  }
  const Fractional sizes = sizes_of(args, x, spatial);
  const std::int64_t plane = sizes.in[0] * sizes.in[1] * sizes.in[2];
  const std::int64_t planes = x.numel() / plane;
  const std::int64_t outputs = sizes.out[0] * sizes.out[1] * sizes.out[2];
  const Tensor samples = args.var(samples_name).tensor().to(DType::float64).contiguous();
  if (samples.numel() != planes * static_cast<std::int64_t>(spatial)) {
    throw SkipError("fractional_max_pool: _random_samples must hold " + std::to_string(spatial) +
                    " numbers for every channel.");
  }
  Tensor index(DType::int64, {planes, outputs});
  const Tensor wide = to_compute(x.tensor());
  for (std::int64_t p = 0; p < planes; ++p) {
    std::array<std::vector<std::int64_t>, 3> starts{{{0}, {0}, {0}}};
    for (std::size_t axis = 0; axis < spatial; ++axis) {
      // In two dimensions the samples are for width and height, in three for depth, height and width.
      const std::size_t at = 3 - spatial + axis;
      const std::size_t which = spatial == 2 ? 1 - axis : axis;
      const double sample =
          samples.data<double>()[p * static_cast<std::int64_t>(spatial) + static_cast<std::int64_t>(which)];
      if (!(sample >= 0 && sample <= 1)) throw SkipError("fractional_max_pool: a sample is not between 0 and 1.");
      starts[at] = window_starts(sample, sizes.in[at], sizes.out[at], sizes.kernel[at]);
      for (const std::int64_t start : starts[at]) {
        if (start < 0 || start > sizes.in[at] - sizes.kernel[at]) {
          throw SkipError("fractional_max_pool: a window would leave the input.");
        }
      }
    }
    visit_compute(wide.dtype(), [&](auto element) {
      using T = decltype(element);
      find_largest(wide.data<T>() + p * plane, sizes, starts, index.mutable_data<std::int64_t>() + p * outputs);
    });
  }
  Dims shape = x.shape();
  for (std::size_t axis = 0; axis < spatial; ++axis) shape[rank - spatial + axis] = sizes.out[3 - spatial + axis];
  const Var y = reshape(gather(reshape(x, {planes, plane}), 1, index), shape);
  if (!with_indices) return y;
  return List{y, args.tape().constant(index.reshape(shape))};
}

template <std::size_t spatial, bool always_indices>
Value pool(const Bound& args) {
  return fractional_max_pool(args, spatial, "_random_samples", always_indices || args.flag("return_indices"));
}

// The form below torch.nn.functional, without ratio.
template <std::size_t spatial>
Value pool_given_samples(const Bound& args) {
  return fractional_max_pool(args, spatial, "random_samples", true);
}

}  // namespace

#define FRACTIONAL(name, spatial, indices)                                                                         \
  OP(name                                                                                                          \
     "(Tensor input, int[] kernel_size, int[]? output_size=None, float[]? output_ratio=None, "                     \
     "bool return_indices=False, Tensor? _random_samples=None)",                                                   \
     pool<spatial, indices>);                                                                                      \
  OP(name "(Tensor input, int[] kernel_size, int[] output_size, Tensor random_samples, *, any output_ratio=None)", \
     pool_given_samples<spatial>)

FRACTIONAL("fractional_max_pool2d", 2, false);
NAMES("fractional_max_pool2d", "Functional: fractional_max_pool2d _fractional_max_pool2d");
TRY_FIRST("fractional_max_pool2d", Trial::of_values);
TRAITS("fractional_max_pool2d", .ranks = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients);

FRACTIONAL("fractional_max_pool2d_with_indices", 2, true);
NAMES("fractional_max_pool2d_with_indices", "Functional: fractional_max_pool2d_with_indices");
TRY_FIRST("fractional_max_pool2d_with_indices", Trial::of_values);
TRAITS("fractional_max_pool2d_with_indices", .ranks = true, .varies = Varies::gradients,
       .half_sums = HalfSums::gradients);

FRACTIONAL("fractional_max_pool3d", 3, false);
NAMES("fractional_max_pool3d", "Functional: fractional_max_pool3d _fractional_max_pool3d");
TRY_FIRST("fractional_max_pool3d", Trial::of_values);
TRAITS("fractional_max_pool3d", .ranks = true, .varies = Varies::gradients, .half_sums = HalfSums::gradients);

FRACTIONAL("fractional_max_pool3d_with_indices", 3, true);
NAMES("fractional_max_pool3d_with_indices", "Functional: fractional_max_pool3d_with_indices");
TRY_FIRST("fractional_max_pool3d_with_indices", Trial::of_values);
TRAITS("fractional_max_pool3d_with_indices", .ranks = true, .varies = Varies::gradients,
       .half_sums = HalfSums::gradients);

#undef FRACTIONAL

}  // namespace msrun
