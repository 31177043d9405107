// What the products of direct_convolution.h share: packed weights times a padded copy of the data, block by block of
// its flat positions. Included by their .cpp files only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "kernels/base/parallel.h"
#include "kernels/numeric/direct_convolution.h"
#include "kernels/numeric/padded_copy.h"
#include "kernels/numeric/rows.h"
#include "kernels/numeric/tiles.h"

namespace msrun::convolution_blocks {

using namespace tiles;

// Terms of a sum that are added up in registers before they join the result.
inline constexpr std::int64_t terms_at_once = 256;
// A copied input that is worked on at a time: about the second-level cache.
inline constexpr std::int64_t block_bytes = std::int64_t{1} << 20;

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
  ZeroedBuffer<T> storage_;
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

// The products of multiply in order, every partial sum as the accumulator holds it. Those of a row begin with its
// element of `start`, or with 0 if that is null.
template <Accumulator A>
void multiply_in_order(const PackedWeights<float>& weights, const float* input, const std::int64_t* offsets,
                       float* result, std::int64_t rows, std::int64_t positions, std::int64_t pitch,
                       const float* start) {
  for (std::int64_t row = 0; row < rows; ++row)
    std::fill_n(result + row * pitch, pitch, start == nullptr ? 0.0F : start[row]);
  const float* packed = weights.data();
  weights.for_each_tile([&](std::int64_t row, std::int64_t height, std::int64_t from, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k) {
      const float* values = input + offsets[from + k];
      for (std::int64_t r = 0; r < height; ++r) {
        const float factor = *packed++;
        float* sums = result + (row + r) * pitch;
        for (std::int64_t p = 0; p < positions; ++p) sums[p] = accumulate<A>(sums[p], factor * values[p]);
      }
    }
  });
}

// Positions of the result that multiply works on together.
template <class T>
inline constexpr std::int64_t position_block{10 * widest * lanes<T>};

// Computes all positions [0, positions) block by block and hands each block to take(result, pitch, first, count). start
// is that of multiply_in_order, and of no other sums.
template <class T, class F>
void multiply_in_blocks(const PackedWeights<T>& weights, std::int64_t rows, const T* input,
                        const std::vector<std::int64_t>& offsets, std::int64_t positions, Accumulator accumulator,
                        ZeroedBuffer<T>& result, F&& take, const T* start = nullptr) {
  constexpr std::int64_t pitch = position_block<T>;
  const auto run = [&](std::int64_t block, T* sums) {
    const std::int64_t first = block * pitch;
    const std::int64_t count = std::min(pitch, positions - first);
    if (accumulator == Accumulator::wide) {
      multiply(weights, input + first, offsets.data(), sums, count, pitch);
    } else if constexpr (std::is_same_v<T, float>) {
      with_accumulator(accumulator, [&]<Accumulator A>(std::integral_constant<Accumulator, A>) {
        multiply_in_order<A>(weights, input + first, offsets.data(), sums, rows, count, pitch, start);
      });
    }
    take(sums, pitch, first, count);
  };
  const std::int64_t blocks = (positions + pitch - 1) / pitch;
  if (help_pays(rows, std::ssize(offsets), positions)) {
    run_pieces(blocks, [&](std::int64_t block) {
      ZeroedBuffer<T> own(rows * pitch);
      run(block, own.data());
    });
  } else {
    for (std::int64_t block = 0; block < blocks; ++block) run(block, result.data());
  }
}

// Calls f(image, {z, y, x}, block element, count) for every stretch of a block of flat positions that belongs to the
// result: columns [x, x + count) of row (z, y), the first of which is that element of the block.
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
inline std::int64_t flat_positions(std::int64_t images, const Spatial& pitch, const Spatial& extent) {
  return (((images - 1) * pitch[0] + extent[0] - 1) * pitch[1] + extent[1] - 1) * pitch[2] + extent[2];
}

inline Spatial pitches(const std::array<PaddedAxis, 3>& axes) { return {axes[0].pitch, axes[1].pitch, axes[2].pitch}; }

// Images whose copies are worked on together.
template <class T>
std::int64_t images_at_once(const Convolution& c, const std::array<PaddedAxis, 3>& axes, std::int64_t channels,
                            std::int64_t limit = block_bytes) {
  std::int64_t bytes = channels * static_cast<std::int64_t>(sizeof(T));
  for (const PaddedAxis& axis : axes) bytes = std::min(limit, bytes * axis.pitch * std::ssize(axis.phases));
  return std::clamp<std::int64_t>(limit / std::max<std::int64_t>(bytes, 1), 1, std::max<std::int64_t>(c.batch, 1));
}

// Calls f(first image, images) block by block.
template <class F>
void for_each_block(std::int64_t batch, std::int64_t images, F&& f) {
  for (std::int64_t n = 0; n < batch; n += images) f(n, std::min(images, batch - n));
}

}  // namespace msrun::convolution_blocks
