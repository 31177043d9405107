#include "kernels/numeric/direct_convolution.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "kernels/base/parallel.h"
#include "kernels/numeric/gemm.h"
#include "kernels/numeric/padded_copy.h"
#include "kernels/numeric/rows.h"
#include "kernels/numeric/sums.h"
#include "kernels/numeric/tiles.h"
#include "kernels/tensor/dims.h"
#include "kernels/tensor/dtype.h"
#include "kernels/tensor/memory.h"

namespace msrun {
namespace {

using namespace tiles;

// Terms of a sum that are added up in registers before they join the result.
constexpr std::int64_t terms_at_once = 256;
// A copied input that is worked on at a time: about the second-level cache.
constexpr std::int64_t block_bytes = std::int64_t{1} << 20;
// All positions of R rows.
template <int R, class T>
void multiply_rows(const T* input, const std::int64_t* offsets, const T* weights, std::int64_t terms, T* result,
                   std::int64_t positions, std::int64_t pitch, bool add) {
  constexpr int wide = vectors_of(R);
  const auto offset = [offsets](std::int64_t k) { return offsets[k]; };
  std::int64_t p = 0;
  for (; p + (wide - 1) * lanes<T> < positions; p += wide * lanes<T>)
    multiply_tile<R, wide>(input + p, offset, weights, terms, result + p, pitch, add);
  for (; p < positions; p += lanes<T>) multiply_tile<R, 1>(input + p, offset, weights, terms, result + p, pitch, add);
}

// Rows of weights [rows, terms] for multiply_tile: tiles behind one another, in pieces of terms_at_once terms.
template <class T>
class PackedWeights {
 public:
  // element(row, term) gives a weight.
  template <class F>
  PackedWeights(std::int64_t rows, std::int64_t terms, F&& element)
      : rows_(rows), terms_(terms), storage_(rows * terms) {
    T* to = storage_.data();
    for_each_tile([&](std::int64_t first, std::int64_t height, std::int64_t from, std::int64_t count) {
      pack_rows(first, height, from, count, to, element);
      to += height * count;
    });
  }

  // Calls f(first row, rows, first term, terms) for every tile in the order of memory.
  template <class F>
  void for_each_tile(F&& f) const {
    for (std::int64_t from = 0; from < terms_; from += terms_at_once) {
      const std::int64_t count = std::min(terms_at_once, terms_ - from);
      for_each_row_tile(rows_, [&](std::int64_t row, std::int64_t height) { f(row, height, from, count); });
    }
  }

  const T* data() const { return storage_.data(); }

 private:
  std::int64_t rows_;
  std::int64_t terms_;
  Scratch<T> storage_;
};

// result [rows, pitch] = weights * input at offsets, for `positions` positions; whole vectors of the result are
// written.
template <class T>
void multiply(const PackedWeights<T>& weights, const T* input, const std::int64_t* offsets, T* result,
              std::int64_t positions, std::int64_t pitch) {
  const T* packed = weights.data();
  weights.for_each_tile([&](std::int64_t row, std::int64_t height, std::int64_t from, std::int64_t count) {
    with_height(height, [&]<int R>(std::integral_constant<int, R>) {
      multiply_rows<R>(input, offsets + from, packed, count, result + row * pitch, positions, pitch, from > 0);
    });
    packed += height * count;
  });
}

// The same with every partial sum rounded to float16.
template <class T>
void multiply_rounding_to_half(const PackedWeights<T>& weights, const T* input, const std::int64_t* offsets, T* result,
                               std::int64_t rows, std::int64_t positions, std::int64_t pitch) {
  std::fill_n(result, rows * pitch, T{});
  const T* packed = weights.data();
  weights.for_each_tile([&](std::int64_t row, std::int64_t height, std::int64_t from, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k) {
      const T* values = input + offsets[from + k];
      for (std::int64_t r = 0; r < height; ++r) {
        const T factor = *packed++;
        T* sums = result + (row + r) * pitch;
        for (std::int64_t p = 0; p < positions; ++p) sums[p] = add_step(sums[p], factor * values[p], true);
      }
    }
  });
}

// Positions of the result that multiply works on together.
template <class T>
constexpr std::int64_t position_block = 10 * widest* lanes<T>;

// Computes all positions [0, positions) block by block and hands each block to take(result, pitch, first, count).
template <class T, class F>
void multiply_in_blocks(const PackedWeights<T>& weights, std::int64_t rows, const T* input,
                        const std::vector<std::int64_t>& offsets, std::int64_t positions, bool half, Scratch<T>& result,
                        F&& take) {
  constexpr std::int64_t pitch = position_block<T>;
  const auto run = [&](std::int64_t block, T* sums) {
    const std::int64_t first = block * pitch;
    const std::int64_t count = std::min(pitch, positions - first);
    if (half) {
      multiply_rounding_to_half(weights, input + first, offsets.data(), sums, rows, count, pitch);
    } else {
      multiply(weights, input + first, offsets.data(), sums, count, pitch);
    }
    take(sums, pitch, first, count);
  };
  const std::int64_t blocks = (positions + pitch - 1) / pitch;
  if (help_pays(rows, std::ssize(offsets), positions)) {
    run_pieces(blocks, [&](std::int64_t block) {
      Scratch<T> own(rows * pitch);
      run(block, own.data());
    });
  } else {
    for (std::int64_t block = 0; block < blocks; ++block) run(block, result.data());
  }
}

// Calls f(place of the first result element, block element, count) for every stretch of a block of flat positions that
// belongs to the result: image n, row (z, y), columns [x, x + count).
template <class F>
void for_each_stretch(std::int64_t first, std::int64_t count, const Spatial& pitch, const Spatial& extent, F&& f) {
  const std::int64_t image = pitch[0] * pitch[1] * pitch[2];
  std::int64_t p = first;
  while (p < first + count) {
    const std::int64_t x = p % pitch[2];
    const std::int64_t y = p / pitch[2] % pitch[1];
    const std::int64_t z = p / (pitch[2] * pitch[1]) % pitch[0];
    const std::int64_t row_end = p - x + pitch[2];
    if (x < extent[2] && y < extent[1] && z < extent[0]) {
      const std::int64_t length = std::min(extent[2] - x, first + count - p);
      f(p / image, Spatial{z, y, x}, p - first, length);
    }
    p = row_end;
  }
}

// Flat positions from the first to the last result element.
std::int64_t flat_positions(std::int64_t images, const Spatial& pitch, const Spatial& extent) {
  return (((images - 1) * pitch[0] + extent[0] - 1) * pitch[1] + extent[1] - 1) * pitch[2] + extent[2];
}

Spatial pitches(const std::array<PaddedAxis, 3>& axes) { return {axes[0].pitch, axes[1].pitch, axes[2].pitch}; }

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

// Images whose copies are worked on together.
template <class T>
std::int64_t images_at_once(const Convolution& c, const std::array<PaddedAxis, 3>& axes, std::int64_t channels,
                            std::int64_t limit = block_bytes) {
  std::int64_t bytes = channels * static_cast<std::int64_t>(sizeof(T));
  for (const PaddedAxis& axis : axes) bytes = std::min(limit, bytes * axis.pitch * std::ssize(axis.phases));
  return std::clamp<std::int64_t>(limit / std::max<std::int64_t>(bytes, 1), 1, std::max<std::int64_t>(c.batch, 1));
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
          Spatial place;
          for (std::size_t a = 0; a < 3; ++a) {
            phase[a] = at[a] % w.stride[a];
            place[a] = at[a] / w.stride[a];
          }
          offsets.push_back(input.offset(channel, phase, place));
        }
      }
    }
  }
  return offsets;
}

// Calls f(first image, images) block by block.
template <class F>
void for_each_block(std::int64_t batch, std::int64_t images, F&& f) {
  for (std::int64_t n = 0; n < batch; n += images) f(n, std::min(images, batch - n));
}

// A residue class of input elements along one axis: at + padding = place * stride + residue. They meet the kernel
// elements k with k * dilation = jump * stride + residue, at output place - jump.
struct Residue {
  std::int64_t first_place = 0;
  std::int64_t places = 0;
  std::int64_t first_element = 0;
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> jumps;
};

std::vector<Residue> residues(const Windows& w, std::size_t a) {
  std::vector<Residue> result;
  std::vector<std::int64_t> seen;
  for (std::int64_t k = 0; k < w.kernel[a]; ++k) {
    const std::int64_t residue = k * w.dilation[a] % w.stride[a];
    const std::int64_t jump = k * w.dilation[a] / w.stride[a];
    const auto at = std::find(seen.begin(), seen.end(), residue);
    if (at != seen.end()) {
      Residue& known = result[static_cast<std::size_t>(at - seen.begin())];
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
    seen.push_back(residue);
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
  PackedWeights<T> pack(const T* w) const {
    const std::int64_t per_channel = std::ssize(kernel);
    return PackedWeights<T>(rows, std::ssize(offsets), [&](std::int64_t r, std::int64_t k) {
      return w[(k / per_channel * rows + r) * kernel_size + kernel[static_cast<std::size_t>(k % per_channel)]];
    });
  }

  // The element of a channel that place `at` of the class stands for.
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

template <class T>
bool all_finite(const T* values, std::int64_t count) {
  using Bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
  constexpr Bits exponent = std::is_same_v<T, float> ? Bits{0x7F800000} : static_cast<Bits>(0x7FF0000000000000);
  Bits found = 0;
  for (std::int64_t i = 0; i < count; ++i)
    found |= static_cast<Bits>((std::bit_cast<Bits>(values[i]) & exponent) == exponent);
  return found == 0;
}

template <class T>
void add_weight_gradient_rounding_to_half(const T* g, std::int64_t g_pitch, std::int64_t rows, const T* input,
                                          const std::vector<std::int64_t>& offsets, std::int64_t count, T* w) {
  for (std::int64_t row = 0; row < rows; ++row) {
    T* sums = w + row * std::ssize(offsets);
    for (std::int64_t p = 0; p < count; ++p) {
      const T factor = g[row * g_pitch + p];
      for (std::size_t k = 0; k < offsets.size(); ++k)
        sums[k] = add_step(sums[k], factor * input[offsets[k] + p], true);
    }
  }
}

bool rounds_to_half(const Arithmetic& arithmetic, bool is_float) { return is_float && arithmetic.fp16_accumulation; }

// Windows of one element: plain products of every image.
enum class Product { output, input, weight };
template <class T>
void multiply_images(Product product, const Convolution& c, const T* a, const T* b, T* result,
                     const Arithmetic& arithmetic) {
  const std::int64_t positions = c.windows.output_size();
  const std::int64_t in = c.in_per_group();
  const std::int64_t out = c.out_per_group();
  if (product == Product::weight) std::fill_n(result, c.channels_out * in, T{});
  for (std::int64_t n = 0; n < c.batch; ++n) {
    for (std::int64_t group = 0; group < c.groups; ++group) {
      const std::int64_t at_x = (n * c.channels_in + group * in) * positions;
      const std::int64_t at_y = (n * c.channels_out + group * out) * positions;
      const std::int64_t at_w = group * out * in;
      switch (product) {
        case Product::output:
          gemm<T>({b + at_w, out, in, in, 1}, {a + at_x, in, positions, positions, 1}, result + at_y, positions, false,
                  arithmetic);
          break;
        case Product::input:
          gemm<T>(MatrixView<T>{b + at_w, out, in, in, 1}.transposed(), {a + at_y, out, positions, positions, 1},
                  result + at_x, positions, false, arithmetic);
          break;
        case Product::weight:
          gemm<T>({b + at_y, out, positions, positions, 1},
                  MatrixView<T>{a + at_x, in, positions, positions, 1}.transposed(), result + at_w, in, true,
                  arithmetic);
          break;
      }
    }
  }
}

}  // namespace

template <class T>
void convolve(const Convolution& c, const T* x, const T* w, T* y, const Arithmetic& arithmetic) {
  note_sums(c.column_length(), c.batch * c.channels_out * c.windows.output_size());
  if (c.windows.is_identity()) return multiply_images(Product::output, c, x, w, y, arithmetic);
  const std::array<PaddedAxis, 3> axes = input_axes(c.windows);
  const std::int64_t images = images_at_once<T>(c, axes, c.in_per_group());
  PaddedCopy<T> input(axes, c.in_per_group(), images);
  const std::vector<std::int64_t> offsets = window_offsets(c, input);
  const Spatial pitch = pitches(axes);
  const Spatial& extent = c.windows.output;
  const std::int64_t rows = c.out_per_group();
  const std::int64_t terms = c.column_length();
  const std::int64_t y_channel = c.windows.output_size();
  const std::int64_t x_image = c.channels_in * c.windows.input_size();
  Scratch<T> result(rows * position_block<T>);
  for (std::int64_t group = 0; group < c.groups; ++group) {
    const T* group_w = w + group * rows * terms;
    PackedWeights<T> weights(rows, terms, [&](std::int64_t r, std::int64_t k) { return group_w[r * terms + k]; });
    for_each_block(c.batch, images, [&](std::int64_t n, std::int64_t count) {
      input.fill(x + n * x_image + group * c.in_per_group() * c.windows.input_size(), x_image, count);
      T* group_y = y + (n * c.channels_out + group * rows) * y_channel;
      multiply_in_blocks<T>(weights, rows, input.data(), offsets, flat_positions(count, pitch, extent),
                            rounds_to_half(arithmetic, std::is_same_v<T, float>), result,
                            [&](const T* block, std::int64_t block_pitch, std::int64_t first, std::int64_t length) {
                              for_each_stretch(
                                  first, length, pitch, extent,
                                  [&](std::int64_t image, const Spatial& at, std::int64_t from, std::int64_t stretch) {
                                    T* to = group_y + image * c.channels_out * y_channel +
                                            (at[0] * extent[1] + at[1]) * extent[2] + at[2];
                                    for (std::int64_t r = 0; r < rows; ++r)
                                      std::copy_n(block + r * block_pitch + from, stretch, to + r * y_channel);
                                  });
                            });
    });
  }
}

template <class T>
void convolve_for_input(const Convolution& c, const T* g, const T* w, T* x, const Arithmetic& arithmetic) {
  note_sums(c.out_per_group() * c.windows.kernel_size(), c.batch * c.channels_in * c.windows.input_size());
  if (c.windows.is_identity()) return multiply_images(Product::input, c, g, w, x, arithmetic);
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
  Scratch<T> result(rows * position_block<T>);

  std::vector<ResidueClass<T>> all;
  for (const Residue& z : classes[0]) {
    for (const Residue& y : classes[1]) {
      for (const Residue& x_class : classes[2]) all.emplace_back(c, gradient, axes, z, y, x_class);
    }
  }
  for (std::int64_t group = 0; group < c.groups; ++group) {
    const T* group_w = w + group * outs * rows * windows.kernel_size();
    std::vector<PackedWeights<T>> weights;
    for (const ResidueClass<T>& one : all) weights.push_back(one.pack(group_w));
    for_each_block(c.batch, images, [&](std::int64_t n, std::int64_t count) {
      gradient.fill(g + n * g_image + group * outs * windows.output_size(), g_image, count);
      T* group_x = x + n * x_image + group * rows * x_channel;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const ResidueClass<T>& one = all[i];
        multiply_in_blocks<T>(
            weights[i], rows, gradient.data(), one.offsets, flat_positions(count, pitch, one.extent),
            rounds_to_half(arithmetic, std::is_same_v<T, float>), result,
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

template <class T>
void convolve_for_weight(const Convolution& c, const T* x, const T* g, T* w, const Arithmetic& arithmetic) {
  note_sums(c.batch * c.windows.output_size(), c.channels_out * c.column_length());
  if (c.windows.is_identity()) return multiply_images(Product::weight, c, x, g, w, arithmetic);
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
  const bool half = rounds_to_half(arithmetic, std::is_same_v<T, float>);
  std::fill_n(w, c.channels_out * c.column_length(), T{});
  for (std::int64_t group = 0; group < c.groups; ++group) {
    T* group_w = w + group * rows * c.column_length();
    for_each_block(c.batch, images, [&](std::int64_t n, std::int64_t count) {
      input.fill(x + n * x_image + group * c.in_per_group() * c.windows.input_size(), x_image, count);
      gradient.fill(g + n * g_image + group * rows * c.windows.output_size(), g_image, count);
      // Of output channels [row, row + height).
      const auto add = [&](std::int64_t row, std::int64_t height, std::int64_t first, std::int64_t length) {
        const T* from_g = gradient.data() + row * g_pitch + first;
        const T* from_x = input.data() + first;
        T* to = group_w + row * c.column_length();
        if (half) {
          add_weight_gradient_rounding_to_half(from_g, g_pitch, height, from_x, offsets, length, to);
        } else {
          add_all_dot_products(
              from_g, g_pitch, height, [&](std::int64_t k) { return from_x + offsets[static_cast<std::size_t>(k)]; },
              std::ssize(offsets), length, to, c.column_length());
        }
      };
      const std::int64_t positions = flat_positions(count, pitch, c.windows.output);
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

template void convolve(const Convolution&, const float*, const float*, float*, const Arithmetic&);
template void convolve(const Convolution&, const double*, const double*, double*, const Arithmetic&);
template void convolve_for_input(const Convolution&, const float*, const float*, float*, const Arithmetic&);
template void convolve_for_input(const Convolution&, const double*, const double*, double*, const Arithmetic&);
template void convolve_for_weight(const Convolution&, const float*, const float*, float*, const Arithmetic&);
template void convolve_for_weight(const Convolution&, const double*, const double*, double*, const Arithmetic&);

}  // namespace msrun
