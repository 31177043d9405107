// The gradient of a convolution's input: the input elements are taken apart by their residue modulo the stride, and
// each residue class is a convolution of the output gradient with a part of the kernel.
#include <algorithm>
#include <array>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "kernels/numeric/convolution_blocks.h"
#include "kernels/numeric/direct_convolution.h"
#include "kernels/numeric/pointwise_convolution.h"

namespace msrun {

using namespace convolution_blocks;

namespace {

// A residue class of input elements along one axis: at + padding = index * stride + residue. They meet the kernel
// elements k with k * dilation = jump * stride + residue, at output index - jump.
struct Residue {
  std::int64_t first_place = 0;
  std::int64_t places = 0;
  std::int64_t first_element = 0;
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> jumps;
};

std::vector<Residue> residues(const Windows& w, std::size_t a) {
  std::vector<Residue> result;
  std::unordered_map<std::int64_t, std::size_t> seen;
  for (std::int64_t k = 0; k < w.kernel[a]; ++k) {
    const std::int64_t residue = k * w.dilation[a] % w.stride[a];
    const std::int64_t jump = k * w.dilation[a] / w.stride[a];
    const auto [at, is_new] = seen.try_emplace(residue, result.size());
    if (!is_new) {
      Residue& known = result[at->second];
      known.kernel.push_back(k);
      known.jumps.push_back(jump);
      continue;
    }
    Residue fresh;
    const std::int64_t low = w.padding[a] - residue;
    fresh.first_place = low > 0 ? (low + w.stride[a] - 1) / w.stride[a] : 0;
    fresh.first_element = fresh.first_place * w.stride[a] + residue - w.padding[a];
    fresh.places = fresh.first_element < w.input[a] ? (w.input[a] - 1 - fresh.first_element) / w.stride[a] + 1 : 0;
    fresh.kernel.push_back(k);
    fresh.jumps.push_back(jump);
    result.push_back(fresh);
  }
  std::erase_if(result, [](const Residue& r) { return r.places == 0; });
  return result;
}

// An output gradient with the zeros around it that the residue classes of its axis reach.
PaddedAxis gradient_axis(const Windows& w, std::size_t a, const std::vector<Residue>& classes) {
  PaddedAxis axis;
  axis.size = w.output[a];
  std::int64_t lowest = 0;
  std::int64_t beyond = axis.size;
  for (const Residue& r : classes) {
    lowest = std::min(lowest, r.first_place - *std::max_element(r.jumps.begin(), r.jumps.end()));
    beyond = std::max(beyond, r.first_place + r.places - *std::min_element(r.jumps.begin(), r.jumps.end()));
  }
  axis.shift = -lowest;
  axis.pitch = beyond - lowest;
  return axis;
}

// The input elements of one residue along every axis: a convolution of the output gradient with a part of the kernel.
template <class T>
struct ResidueClass {
  ResidueClass(const Convolution& c, const PaddedCopy<T>& gradient, const std::array<PaddedAxis, 3>& axes,
               const Residue& z, const Residue& y, const Residue& x)
      : extent{z.places, y.places, x.places},
        first_element{z.first_element, y.first_element, x.first_element},
        rows(c.in_per_group()),
        kernel_size(c.windows.kernel_size()) {
    for (std::size_t i = 0; i < z.jumps.size(); ++i) {
      for (std::size_t j = 0; j < y.jumps.size(); ++j) {
        for (std::size_t k = 0; k < x.jumps.size(); ++k) {
          const Spatial place{z.first_place - z.jumps[i] + axes[0].shift, y.first_place - y.jumps[j] + axes[1].shift,
                              x.first_place - x.jumps[k] + axes[2].shift};
          offsets.push_back(gradient.offset(0, {0, 0, 0}, place));
          kernel.push_back((z.kernel[i] * c.windows.kernel[1] + y.kernel[j]) * c.windows.kernel[2] + x.kernel[k]);
        }
      }
    }
    for (std::int64_t channel = 1; channel < c.out_per_group(); ++channel) {
      const std::int64_t shift = gradient.offset(channel, {0, 0, 0}, {0, 0, 0});
      for (std::size_t k = 0; k < kernel.size(); ++k) offsets.push_back(offsets[k] + shift);
    }
    if (c.out_per_group() == 0) offsets.clear();
  }

  // Term (channel of the gradient, kernel element) of row (channel of the input); w [channels_out, rows, kernel].
  PackedWeights<T> pack(const T* w, const Summation& summation) const {
    const std::int64_t per_channel = std::ssize(kernel);
    return PackedWeights<T>(rows, summation.used(std::ssize(offsets)), [&](std::int64_t r, std::int64_t k) {
      return w[(k / per_channel * rows + r) * kernel_size + kernel[static_cast<std::size_t>(k % per_channel)]];
    });
  }

  // The element of a channel that has index `at` in the class.
  std::int64_t element(const Windows& windows, const Spatial& at) const {
    const auto along = [&](std::size_t a) { return first_element[a] + at[a] * windows.stride[a]; };
    return (along(0) * windows.input[1] + along(1)) * windows.input[2] + along(2);
  }

  Spatial extent;
  Spatial first_element;
  std::vector<std::int64_t> offsets;  // one per term
  std::vector<std::int64_t> kernel;   // kernel elements
  std::int64_t rows;
  std::int64_t kernel_size;
};

}  // namespace

template <class T>
void convolve_for_input(const Convolution& c, const T* g, const T* w, T* x, const EvaluationContext& context) {
  context.note_sums(c.out_per_group() * c.windows.kernel_size(), c.batch * c.channels_in * c.windows.input_size());
  if (c.windows.is_identity()) return pointwise_convolution(ConvolutionProduct::input, c, g, w, x, context.arithmetic);
  const Windows& windows = c.windows;
  std::array<std::vector<Residue>, 3> classes;
  std::array<PaddedAxis, 3> axes;
  for (std::size_t a = 0; a < 3; ++a) {
    classes[a] = residues(windows, a);
    axes[a] = gradient_axis(windows, a, classes[a]);
  }
  const std::int64_t rows = c.in_per_group();
  const std::int64_t outs = c.out_per_group();
  const std::int64_t x_channel = windows.input_size();
  const std::int64_t x_image = c.channels_in * x_channel;
  const std::int64_t g_image = c.channels_out * windows.output_size();
  // Elements that no window covers, or only windows of other residues.
  std::fill_n(x, c.batch * x_image, T{});
  const std::int64_t images = images_at_once<T>(c, axes, outs);
  PaddedCopy<T> gradient(axes, outs, images);
  const Spatial pitch = pitches(axes);
  ZeroedBuffer<T> result(rows * position_block<T>);

  std::vector<ResidueClass<T>> all;
  for (const Residue& z : classes[0]) {
    for (const Residue& y : classes[1]) {
      for (const Residue& x_class : classes[2]) all.emplace_back(c, gradient, axes, z, y, x_class);
    }
  }
  for (std::int64_t group = 0; group < c.groups; ++group) {
    const T* group_w = w + group * outs * rows * windows.kernel_size();
    std::vector<PackedWeights<T>> weights;
    for (const ResidueClass<T>& one : all) weights.push_back(one.pack(group_w, context.arithmetic.summation));
    for_each_block(c.batch, images, [&](std::int64_t n, std::int64_t count) {
      gradient.fill(g + n * g_image + group * outs * windows.output_size(), g_image, count);
      T* group_x = x + n * x_image + group * rows * x_channel;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const ResidueClass<T>& one = all[i];
        multiply_in_blocks<T>(
            weights[i], rows, gradient.data(), one.offsets, flat_positions(count, pitch, one.extent),
            accumulator_of<T>(context.arithmetic), result,
            [&](const T* block, std::int64_t block_pitch, std::int64_t first, std::int64_t length) {
              for_each_stretch(first, length, pitch, one.extent,
                               [&](std::int64_t image, const Spatial& at, std::int64_t from, std::int64_t stretch) {
                                 T* to = group_x + image * x_image + one.element(windows, at);
                                 for (std::int64_t r = 0; r < rows; ++r) {
                                   const T* values = block + r * block_pitch + from;
                                   T* target = to + r * x_channel;
                                   const std::int64_t step = windows.stride[2];
                                   if (step == 1) {
                                     std::copy_n(values, stretch, target);
                                   } else {
                                     for (std::int64_t k = 0; k < stretch; ++k) target[k * step] = values[k];
                                   }
                                 }
                               });
            });
      }
    });
  }
}

template void convolve_for_input(const Convolution&, const float*, const float*, float*, const EvaluationContext&);
template void convolve_for_input(const Convolution&, const double*, const double*, double*, const EvaluationContext&);

}  // namespace msrun
