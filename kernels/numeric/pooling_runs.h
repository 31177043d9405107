// Pooling over sliding windows, all outputs of a slice at a time: what all outputs read first is one run of memory,
// what they read second another, and loops over runs become vector code. For that, slices of the input are padded and,
// where windows are more than one element apart, split by row and column modulo that distance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/numeric/pooling_windows.h"
#include "kernels/tensor/memory.h"

namespace msrun {

// Whether the class below can serve: sliding windows of moderate size. Long sums are better added pairwise.
inline bool suits_runs(const Geometry& geometry) {
  constexpr std::int64_t widest = 32;
  for (const PoolAxis* axis : {&geometry.axes[1], &geometry.axes[2]}) {
    const std::int64_t span = axis->step * (axis->kernel - 1) + 1;
    if (axis->stride < 1 || axis->stride > widest || axis->kernel >= widest || span > axis->in + widest) return false;
  }
  return geometry.axes[0].stride > 0 && geometry.input_plane() < (std::int64_t{1} << 30) && geometry.planes > 0 &&
         geometry.output_plane() > 0;
}

// The slices along the first axis of one plane, padded and split. The outputs of a slice form a run with gaps: output
// (h, w) has the index h * pitch() + w; what lies between is computed too and means nothing.
template <class T>
class SplitPlane {
 public:
  SplitPlane(const Geometry& geometry, T padding)
      : depth_(geometry.axes[0].in),
        depth_step_(geometry.axes[0].step),
        rows_(geometry.axes[1]),
        columns_(geometry.axes[2]),
        padding_(padding),
        pitch_(part_of(columns_)),
        part_(part_of(rows_) * pitch_),
        slice_(part_ * rows_.stride * columns_.stride) {
    // Runs that start late in a slice end beyond it.
    const auto size = static_cast<std::size_t>(depth_ * slice_ + (columns_.kernel * columns_.step + 1) + pitch_);
    check_tensor_memory(size, sizeof(T));
    data_.assign(size, padding_);
  }

  std::int64_t pitch() const { return pitch_; }
  std::int64_t run() const { return rows_.out * pitch_; }

  void clear() { std::fill(data_.begin(), data_.end(), padding_); }

  // The padding stays as the constructor left it.
  void load(const T* plane) {
    for_each_row([&](std::int64_t split, std::int64_t row, std::int64_t count) {
      const T* from = plane + row;
      for (std::int64_t first = 0; first < std::min(columns_.stride, count); ++first) {
        T* to = data_.data() + split + column_index(first + columns_.padding);
        const std::int64_t length = (count - first + columns_.stride - 1) / columns_.stride;
        if (columns_.stride == 1) {
          std::copy_n(from, length, to);
        } else if (columns_.stride == 2) {
          for (std::int64_t i = 0; i < length; ++i) to[i] = from[first + 2 * i];
        } else {
          for (std::int64_t i = 0; i < length; ++i) to[i] = from[first + i * columns_.stride];
        }
      }
    });
  }

  // Back to rows without padding; elements that no window covers become the padding.
  void unload(T* plane) {
    std::fill_n(plane, depth_ * rows_.in * columns_.in, padding_);
    for_each_row([&](std::int64_t split, std::int64_t row, std::int64_t count) {
      T* to = plane + row;
      const T* from = data_.data() + split;
      if (columns_.stride == 1) {
        std::copy_n(from + columns_.padding, count, to);
      } else {
        for (std::int64_t i = 0; i < count; ++i) to[i] = from[column_index(i + columns_.padding)];
      }
    });
  }

  // Calls visit(values, offset) for every position within the windows of the outputs of a slice, which reads slices d:
  // values is what the outputs read there. In the plane it lies `offset` elements after the window's corner in slice 0,
  // unless it is padding.
  template <class Visit>
  void for_each_position(const Window& d, const Visit& visit) {
    for (std::int64_t i = d.start; i < d.stop; i += depth_step_) {
      for (std::int64_t j = 0; j < rows_.kernel; ++j) {
        for (std::int64_t k = 0; k < columns_.kernel; ++k) {
          const std::int64_t row = j * rows_.step;
          const std::int64_t column = k * columns_.step;
          visit(data_.data() + index(i, row, column), (i * rows_.in + row) * columns_.in + column);
        }
      }
    }
  }

  // Calls visit(values) from the last position of a slice to the first, for sums into the plane in the order of the
  // outputs.
  template <class Visit>
  void for_each_position_backwards(const Window& d, const Visit& visit) {
    for (std::int64_t i = d.start; i < d.stop; i += depth_step_) {
      for (std::int64_t j = rows_.kernel; j-- > 0;) {
        for (std::int64_t k = columns_.kernel; k-- > 0;) {
          visit(data_.data() + index(i, j * rows_.step, k * columns_.step));
        }
      }
    }
  }

 private:
  // Elements that windows cover of a padded axis.
  static std::int64_t covered(const PoolAxis& axis) {
    return (axis.out - 1) * axis.stride + axis.step * (axis.kernel - 1) + 1;
  }
  static std::int64_t part_of(const PoolAxis& axis) { return (covered(axis) + axis.stride - 1) / axis.stride; }

  // Indices in the split slice of elements of the padded one.
  std::int64_t column_index(std::int64_t column) const {
    return column % columns_.stride * part_ + column / columns_.stride;
  }
  std::int64_t index(std::int64_t slice, std::int64_t row, std::int64_t column) const {
    return slice * slice_ + row % rows_.stride * columns_.stride * part_ + row / rows_.stride * pitch_ +
           column_index(column);
  }

  // Calls work(index of the padded row, start in the plane, count of elements used) for all rows that windows cover.
  template <class Work>
  void for_each_row(const Work& work) {
    const std::int64_t rows = std::min(rows_.in, covered(rows_) - rows_.padding);
    const std::int64_t count = std::min(columns_.in, covered(columns_) - columns_.padding);
    for (std::int64_t i = 0; i < depth_; ++i) {
      for (std::int64_t j = 0; j < rows; ++j) {
        work(index(i, j + rows_.padding, 0), (i * rows_.in + j) * columns_.in, count);
      }
    }
  }

  std::int64_t depth_;
  std::int64_t depth_step_;
  const PoolAxis& rows_;
  const PoolAxis& columns_;
  T padding_;
  std::int64_t pitch_;  // elements from row to row of a part
  std::int64_t part_;   // elements with the same remainders
  std::int64_t slice_;
  std::vector<T> data_;
};

// Calls visit(index in the run, index in the slice) for the rows of a slice of outputs.
template <class T, class Visit>
void for_each_output_row(const Geometry& geometry, const SplitPlane<T>& plane, const Visit& visit) {
  for (std::int64_t h = 0; h < geometry.axes[1].out; ++h) visit(h * plane.pitch(), h * geometry.axes[2].out);
}

}  // namespace msrun
