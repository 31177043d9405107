// The windows of pooling: for every axis, which input elements each output reads. Axes that are missing count as axes
// of size 1.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/tensor/tensor.h"

namespace msrun {

// The input elements of one output along one axis.
struct Window {
  std::int64_t start = 0;   // first input element inside the input
  std::int64_t stop = 0;    // one past the last
  std::int64_t extent = 0;  // elements with padding, for the divisor of the average
};

struct PoolAxis {
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t step = 1;  // dilation
  // For sliding windows: elements per window, distance of windows, elements before the input. stride 0: the windows are
  // of different sizes.
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::vector<Window> windows{{0, 1, 1}};
};

// The windows of the last three axes, and the planes that they slide over.
struct Geometry {
  std::array<PoolAxis, 3> axes;
  Dims result_shape;
  std::int64_t planes = 1;
  std::int64_t input_plane() const { return axes[0].in * axes[1].in * axes[2].in; }
  std::int64_t output_plane() const { return axes[0].out * axes[1].out * axes[2].out; }
};

// One of as many values as there are axes, or the only one. Throws SkipError if it is negative or huge.
std::int64_t at_axis(const Dims& values, std::size_t axis, std::size_t count, const char* what);

struct PoolOptions {
  Dims kernel;
  Dims stride;  // empty: that of the kernel
  Dims padding{0};
  Dims dilation{1};
  bool ceil_mode = false;
};

// Windows over the trailing `spatial` axes of x. Throws SkipError where options and shape do not fit.
Geometry sliding_windows(const Tensor& x, std::size_t spatial, const PoolOptions& options);

// Windows that divide the trailing axes of x evenly: output_size has one size per axis, std::nullopt keeps that of the
// input. Throws SkipError for sizes that are negative or huge.
Geometry adaptive_windows(const Tensor& x, const std::vector<std::optional<std::int64_t>>& output_size);

// Calls visit(windows of the three axes, position of the output in its plane) for every output of a plane.
template <class Visit>
void for_each_window(const Geometry& geometry, const Visit& visit) {
  std::int64_t position = 0;
  for (const Window& d : geometry.axes[0].windows) {
    for (const Window& h : geometry.axes[1].windows) {
      for (const Window& w : geometry.axes[2].windows) visit(d, h, w, position++);
    }
  }
}

// Calls visit(start, count) for the runs of a window along the last axis; elements of a run are the axis' step apart.
template <class Visit>
void for_each_run(const Geometry& geometry, const Window& d, const Window& h, const Window& w, const Visit& visit) {
  const PoolAxis& rows = geometry.axes[1];
  const PoolAxis& columns = geometry.axes[2];
  const std::int64_t count = w.stop > w.start ? (w.stop - w.start + columns.step - 1) / columns.step : 0;
  for (std::int64_t i = d.start; i < d.stop; i += geometry.axes[0].step) {
    for (std::int64_t j = h.start; j < h.stop; j += rows.step) visit((i * rows.in + j) * columns.in + w.start, count);
  }
}

// The windows that an element of the input lies in, at most.
std::int64_t most_windows(const Geometry& geometry);

}  // namespace msrun
