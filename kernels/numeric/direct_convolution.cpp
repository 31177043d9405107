#include "kernels/numeric/direct_convolution.h"

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/parallel.h"
#include "kernels/base/text.h"
#include "kernels/numeric/convolution_blocks.h"
#include "kernels/numeric/padded_copy.h"
#include "kernels/numeric/pointwise_convolution.h"
#include "kernels/numeric/rows.h"
#include "kernels/numeric/sums_in_order.h"
#include "kernels/numeric/tiles.h"

namespace msrun {

using namespace convolution_blocks;

namespace {

// The input as windows see it: one copy per residue of the stride that a kernel element falls on.
std::array<PaddedAxis, 3> input_axes(const Windows& w) {
  std::array<PaddedAxis, 3> axes;
  for (std::size_t a = 0; a < 3; ++a) {
    PaddedAxis& axis = axes[a];
    axis.size = w.input[a];
    axis.step = w.stride[a];
    axis.shift = w.padding[a];
    axis.pitch = w.output[a] + (w.kernel[a] - 1) * w.dilation[a] / w.stride[a];
    axis.phases.clear();
    for (std::int64_t k = 0; k < w.kernel[a]; ++k) axis.phases.push_back(k * w.dilation[a] % w.stride[a]);
    std::sort(axis.phases.begin(), axis.phases.end());
    axis.phases.erase(std::unique(axis.phases.begin(), axis.phases.end()), axis.phases.end());
  }
  return axes;
}

// Offset of every factor of a sum: channel by channel, kernel positions in order.
template <class T>
std::vector<std::int64_t> window_offsets(const Convolution& c, const PaddedCopy<T>& input) {
  const Windows& w = c.windows;
  std::vector<std::int64_t> offsets;
  offsets.reserve(static_cast<std::size_t>(c.column_length()));
  for (std::int64_t channel = 0; channel < c.in_per_group(); ++channel) {
    for (std::int64_t z = 0; z < w.kernel[0]; ++z) {
      for (std::int64_t y = 0; y < w.kernel[1]; ++y) {
        for (std::int64_t x = 0; x < w.kernel[2]; ++x) {
          const Spatial at{z * w.dilation[0], y * w.dilation[1], x * w.dilation[2]};
          Spatial phase;
          Spatial index;
          for (std::size_t a = 0; a < 3; ++a) {
            phase[a] = at[a] % w.stride[a];
            index[a] = at[a] / w.stride[a];
          }
          offsets.push_back(input.offset(channel, phase, index));
        }
      }
    }
  }
  return offsets;
}

template <class T>
bool all_finite(const T* values, std::int64_t count) {
  using Bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
  constexpr Bits exponent = std::is_same_v<T, float> ? Bits{0x7F800000} : static_cast<Bits>(0x7FF0000000000000);
  Bits found = 0;
  for (std::int64_t i = 0; i < count; ++i)
    found |= static_cast<Bits>((std::bit_cast<Bits>(values[i]) & exponent) == exponent);
  return found == 0;
}

// Adds to W sums of each row, every partial sum as the accumulator holds it: term p of sum k of a row is its g at p
// times the input at offsets[k] + p. The terms' inputs are brought side by side, for all rows at once, and the sums of
// a row stay in registers. Only `used` sums are there.
template <Accumulator A, std::size_t W>
void add_sums_in_order(const float* g, std::int64_t g_pitch, std::int64_t rows, const float* input,
                       const std::int64_t* offsets, std::int64_t used, std::int64_t count, float* w,
                       std::int64_t pitch) {
  constexpr std::int64_t terms_at_once = 64;
  std::array<float, terms_at_once * W> terms{};
  for (std::int64_t first = 0; first < count; first += terms_at_once) {
    const std::int64_t length = std::min(terms_at_once, count - first);
    for (std::int64_t k = 0; k < used; ++k) {
      const float* from = input + offsets[k] + first;
      for (std::int64_t p = 0; p < length; ++p)
        terms[static_cast<std::size_t>(p) * W + static_cast<std::size_t>(k)] = from[p];
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* factors = g + row * g_pitch + first;
      std::array<float, W> sums{};
      std::copy_n(w + row * pitch, used, sums.data());
      add_in_order<A>(
          length, [factors](std::int64_t p) { return factors[p]; },
          [&](std::int64_t p) { return terms.data() + static_cast<std::size_t>(p) * W; }, sums);
      std::copy_n(sums.data(), used, w + row * pitch);
    }
  }
}

template <Accumulator A>
void add_weight_gradient_in_order(const float* g, std::int64_t g_pitch, std::int64_t rows, const float* input,
                                  const std::vector<std::int64_t>& offsets, std::int64_t count, float* w) {
  constexpr std::int64_t wide = 64;
  constexpr std::int64_t narrow = 16;
  const std::int64_t size = std::ssize(offsets);
  std::int64_t k = 0;
  for (; k + wide <= size; k += wide)
    add_sums_in_order<A, wide>(g, g_pitch, rows, input, offsets.data() + k, wide, count, w + k, size);
  for (; k < size; k += narrow) {
    add_sums_in_order<A, narrow>(g, g_pitch, rows, input, offsets.data() + k, std::min(narrow, size - k), count, w + k,
                                 size);
  }
}

// Pairs of a window and a kernel element along an axis that meet an element of the input.
double pairs_with_input(const Windows& w, std::size_t a) {
  double pairs = 0;
  for (std::int64_t k = 0; k < w.kernel[a]; ++k) {
    // Window o meets the input at o * stride + shift.
    const std::int64_t shift = k * w.dilation[a] - w.padding[a];
    const std::int64_t first = shift >= 0 ? 0 : (-shift + w.stride[a] - 1) / w.stride[a];
    const std::int64_t last = shift >= w.input[a] ? -1 : (w.input[a] - 1 - shift) / w.stride[a];
    pairs += static_cast<double>(std::max<std::int64_t>(std::min(last, w.output[a] - 1) - first + 1, 0));
  }
  return pairs;
}

}  // namespace

void refuse_padding(const Convolution& c) {
  // With the memory that it takes, and as often as a call is computed, this is a second or two.
  constexpr double worth_a_look = 1e8;
  constexpr double damaged = 1000;
  const Windows& w = c.windows;
  const double channels =
      static_cast<double>(c.batch) * static_cast<double>(c.channels_out) * static_cast<double>(c.in_per_group());
  double all = channels;
  // The gradient of the input has as many sums as the input has elements, of the kernel elements of one residue each.
  double of_input = channels;
  for (std::size_t a = 0; a < 3; ++a) {
    all *= static_cast<double>(w.output[a]) * static_cast<double>(w.kernel[a]);
    of_input *= static_cast<double>(w.input[a]) *
                std::max(1.0, static_cast<double>(w.kernel[a]) / static_cast<double>(w.stride[a]));
  }
  all = std::max(all, of_input);
  if (all < worth_a_look) return;
  double real = channels;
  for (std::size_t a = 0; a < 3; ++a) real *= pairs_with_input(w, a);
  if (all < damaged * real) return;
  throw SkipError("Of the " + short_number(all) + " products of this convolution " + short_number(real) +
                  " are with its input, all others with padding: the work is out of all proportion to the recorded "
                  "tensors, and a shape or an argument may be damaged.");
}

template <class T>
void convolve(const Convolution& c, const T* x, const T* w, T* y, const EvaluationContext& context, const T* start) {
  context.note_sums(c.column_length(), c.batch * c.channels_out * c.windows.output_size());
  if (c.windows.is_identity())
    return pointwise_convolution(ConvolutionProduct::output, c, x, w, y, context.arithmetic, start);
  const std::array<PaddedAxis, 3> axes = input_axes(c.windows);
  const std::int64_t images = images_at_once<T>(c, axes, c.in_per_group());
  PaddedCopy<T> input(axes, c.in_per_group(), images);
  const std::vector<std::int64_t> offsets = window_offsets(c, input);
  const Spatial pitch = pitches(axes);
  const Spatial& extent = c.windows.output;
  const std::int64_t rows = c.out_per_group();
  const std::int64_t terms = c.column_length();
  const std::int64_t used = context.arithmetic.summation.used(terms);
  const std::int64_t y_channel = c.windows.output_size();
  const std::int64_t x_image = c.channels_in * c.windows.input_size();
  ZeroedBuffer<T> result(rows * position_block<T>);
  for (std::int64_t group = 0; group < c.groups; ++group) {
    const T* group_w = w + group * rows * terms;
    PackedWeights<T> weights(rows, used, [&](std::int64_t r, std::int64_t k) { return group_w[r * terms + k]; });
    for_each_block(c.batch, images, [&](std::int64_t n, std::int64_t count) {
      input.fill(x + n * x_image + group * c.in_per_group() * c.windows.input_size(), x_image, count);
      T* group_y = y + (n * c.channels_out + group * rows) * y_channel;
      multiply_in_blocks<T>(
          weights, rows, input.data(), offsets, flat_positions(count, pitch, extent),
          accumulator_of<T>(context.arithmetic), result,
          [&](const T* block, std::int64_t block_pitch, std::int64_t first, std::int64_t length) {
            for_each_stretch(first, length, pitch, extent,
                             [&](std::int64_t image, const Spatial& at, std::int64_t from, std::int64_t stretch) {
                               T* to = group_y + image * c.channels_out * y_channel +
                                       (at[0] * extent[1] + at[1]) * extent[2] + at[2];
                               for (std::int64_t r = 0; r < rows; ++r)
                                 std::copy_n(block + r * block_pitch + from, stretch, to + r * y_channel);
                             });
          },
          start == nullptr ? nullptr : start + group * rows);
    });
  }
}

template <class T>
void convolve_for_weight(const Convolution& c, const T* x, const T* g, T* w, const EvaluationContext& context) {
  context.note_sums(c.batch * c.windows.output_size(), c.channels_out * c.column_length());
  if (c.windows.is_identity()) return pointwise_convolution(ConvolutionProduct::weight, c, x, g, w, context.arithmetic);
  const std::array<PaddedAxis, 3> axes = input_axes(c.windows);
  // More images, because dot products want to be long.
  const std::int64_t images = images_at_once<T>(c, axes, c.in_per_group() + c.out_per_group(), 8 * block_bytes);
  PaddedCopy<T> input(axes, c.in_per_group(), images);
  // The output gradient at the flat positions of the input, zeros between.
  std::array<PaddedAxis, 3> gradient_axes;
  for (std::size_t a = 0; a < 3; ++a) {
    gradient_axes[a].size = c.windows.output[a];
    gradient_axes[a].pitch = axes[a].pitch;
  }
  PaddedCopy<T> gradient(gradient_axes, c.out_per_group(), images);
  const std::vector<std::int64_t> offsets = window_offsets(c, input);
  const Spatial pitch = pitches(axes);
  const std::int64_t rows = c.out_per_group();
  const std::int64_t x_image = c.channels_in * c.windows.input_size();
  const std::int64_t g_image = c.channels_out * c.windows.output_size();
  const std::int64_t g_pitch = gradient.image() * images;
  const std::int64_t windows = c.batch * c.windows.output_size();
  const Accumulator accumulator = accumulator_of<T>(context.arithmetic);
  std::fill_n(w, c.channels_out * c.column_length(), T{});
  for (std::int64_t group = 0; group < c.groups; ++group) {
    T* group_w = w + group * rows * c.column_length();
    for_each_block(c.batch, images, [&](std::int64_t n, std::int64_t count) {
      input.fill(x + n * x_image + group * c.in_per_group() * c.windows.input_size(), x_image, count);
      gradient.fill(g + n * g_image + group * rows * c.windows.output_size(), g_image, count);
      // Adds the gradient of output channels [row, row + height).
      const auto add = [&](std::int64_t row, std::int64_t height, std::int64_t first, std::int64_t length) {
        const T* from_g = gradient.data() + row * g_pitch + first;
        const T* from_x = input.data() + first;
        T* to = group_w + row * c.column_length();
        if (accumulator == Accumulator::wide) {
          add_all_dot_products(
              from_g, g_pitch, height, [&](std::int64_t k) { return from_x + offsets[static_cast<std::size_t>(k)]; },
              std::ssize(offsets), length, to, c.column_length());
        } else if constexpr (std::is_same_v<T, float>) {
          with_accumulator(accumulator, [&]<Accumulator A>(std::integral_constant<Accumulator, A>) {
            add_weight_gradient_in_order<A>(from_g, g_pitch, height, from_x, offsets, length, to);
          });
        }
      };
      std::int64_t positions = flat_positions(count, pitch, c.windows.output);
      // The last of them is the last window of the last image.
      if (n + count == c.batch && context.arithmetic.summation.used(windows) < windows) --positions;
      // Zero times infinity would be NaN in the positions between the rows.
      const bool flat = all_finite(input.data(), input.size());
      const auto add_rows = [&](std::int64_t row, std::int64_t height) {
        constexpr std::int64_t block = 2048;
        for (std::int64_t first = 0; first < positions; first += block) {
          const std::int64_t length = std::min(block, positions - first);
          if (flat) {
            add(row, height, first, length);
          } else {
            for_each_stretch(first, length, pitch, c.windows.output,
                             [&](std::int64_t, const Spatial&, std::int64_t from, std::int64_t stretch) {
                               add(row, height, first + from, stretch);
                             });
          }
        }
      };
      if (help_pays(rows, std::ssize(offsets), positions)) {
        constexpr std::int64_t slab = std::int64_t{4} * dot_rows;  // whole tiles
        run_pieces((rows + slab - 1) / slab,
                   [&](std::int64_t piece) { add_rows(piece * slab, std::min(slab, rows - piece * slab)); });
      } else {
        add_rows(0, rows);
      }
    });
  }
}

template void convolve(const Convolution&, const float*, const float*, float*, const EvaluationContext&, const float*);
template void convolve(const Convolution&, const double*, const double*, double*, const EvaluationContext&,
                       const double*);
template void convolve_for_weight(const Convolution&, const float*, const float*, float*, const EvaluationContext&);
template void convolve_for_weight(const Convolution&, const double*, const double*, double*, const EvaluationContext&);

}  // namespace msrun
