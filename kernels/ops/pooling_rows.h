// Pooling over sliding windows, a row of outputs at a time: the elements that all outputs of a row read first are one
// run of memory, those that they read second another, and loops over runs become vector code. For that, rows of the
// input are padded and, where windows are more than one element apart, split by position modulo that distance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/ops/pooling_windows.h"
#include "kernels/tensor/memory.h"

namespace msrun {

// Whether the functions below can serve: sliding windows of moderate width. Long sums are better added pairwise.
inline bool suits_rows(const Geometry& geometry) {
  constexpr std::int64_t widest = 32;
  const PoolAxis& columns = geometry.axes[2];
  const std::int64_t span = columns.step * (columns.kernel - 1) + 1;
  return columns.stride > 0 && columns.stride <= 2 * widest && columns.kernel < widest && span <= columns.in + widest &&
         geometry.input_plane() < (std::int64_t{1} << 30) && geometry.planes > 0 && geometry.output_plane() > 0;
}

// Calls visit(windows of the outer two axes, position of the row's first output in its plane).
template <class Visit>
void for_each_output_row(const Geometry& geometry, const Visit& visit) {
  std::int64_t position = 0;
  for (const Window& d : geometry.axes[0].windows) {
    for (const Window& h : geometry.axes[1].windows) {
      visit(d, h, position);
      position += geometry.axes[2].out;
    }
  }
}

// One plane of the input, its rows padded and split.
template <class T>
class SplitPlane {
 public:
  SplitPlane(const Geometry& geometry, T padding)
      : depth_(geometry.axes[0]),
        height_(geometry.axes[1]),
        width_(geometry.axes[2]),
        padding_(padding),
        stride_(width_.stride),
        // Of the padded row, as much as the windows cover.
        covered_((width_.out - 1) * stride_ + width_.step * (width_.kernel - 1) + 1),
        part_((covered_ + stride_ - 1) / stride_),
        row_(part_ * stride_) {
    const auto size = static_cast<std::size_t>(depth_.in * height_.in * row_);
    check_tensor_memory(size, sizeof(T));
    data_.assign(size, padding_);
  }

  void clear() { std::fill(data_.begin(), data_.end(), padding_); }

  // The padding stays as the constructor left it.
  void load(const T* plane) {
    for_each_row(plane, [this](T* split, const T* row, std::int64_t count) {
      switch (stride_) {
        case 1:
          std::copy_n(row, count, split + width_.padding);
          break;
        case 2:
          split_by<2>(split, row, count);
          break;
        default:
          split_by<0>(split, row, count);
      }
    });
  }

  // Back to rows without padding; elements that no window covers become the padding.
  void unload(T* plane) {
    std::fill_n(plane, depth_.in * height_.in * width_.in, padding_);
    for_each_row(plane, [this](const T* split, T* row, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) row[i] = split[place(i + width_.padding)];
    });
  }

  // Calls visit(values, start) for every position within the windows of a row of outputs: output o reads values[o],
  // which stands at start + o * stride in the plane if it is not padding.
  template <class Visit>
  void for_each_column(const Window& d, const Window& h, const Visit& visit) {
    for (std::int64_t i = d.start; i < d.stop; i += depth_.step) {
      for (std::int64_t j = h.start; j < h.stop; j += height_.step) {
        const std::int64_t row = i * height_.in + j;
        for (std::int64_t k = 0; k < width_.kernel; ++k) {
          const T* values = data_.data() + row * row_ + place(k * width_.step);
          visit(values, row * width_.in + k * width_.step - width_.padding);
        }
      }
    }
  }

  // The same with positions from the last to the first within a row, for sums into the plane in the order of outputs.
  template <class Visit>
  void for_each_column_backwards(const Window& d, const Window& h, const Visit& visit) {
    for (std::int64_t i = d.start; i < d.stop; i += depth_.step) {
      for (std::int64_t j = h.start; j < h.stop; j += height_.step) {
        T* row = data_.data() + (i * height_.in + j) * row_;
        for (std::int64_t k = width_.kernel; k-- > 0;) visit(row + place(k * width_.step));
      }
    }
  }

 private:
  // Where an element of the padded row stands in the split one.
  std::int64_t place(std::int64_t position) const { return position % stride_ * part_ + position / stride_; }

  template <class Plane, class Work>
  void for_each_row(Plane* plane, const Work& work) {
    const std::int64_t count = std::min(width_.in, covered_ - width_.padding);
    for (std::int64_t r = 0; r < depth_.in * height_.in; ++r) {
      work(data_.data() + r * row_, plane + r * width_.in, count);
    }
  }

  template <int known_stride>
  void split_by(T* split, const T* row, std::int64_t count) {
    const std::int64_t stride = known_stride == 0 ? stride_ : known_stride;
    for (std::int64_t first = 0; first < std::min(stride, count); ++first) {
      T* to = split + place(first + width_.padding);
      const std::int64_t length = (count - first + stride - 1) / stride;
      for (std::int64_t i = 0; i < length; ++i) to[i] = row[first + i * stride];
    }
  }

  const PoolAxis& depth_;
  const PoolAxis& height_;
  const PoolAxis& width_;
  T padding_;
  std::int64_t stride_;
  std::int64_t covered_;
  std::int64_t part_;  // elements of one remainder
  std::int64_t row_;
  std::vector<T> data_;
};

}  // namespace msrun
