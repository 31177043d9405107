#include "kernels/numeric/pooling_windows.h"

#include <algorithm>
#include <string>

#include "kernels/base/error.h"
#include "kernels/numeric/rows.h"
#include "kernels/tensor/memory.h"
#include "kernels/tensor/work.h"

namespace msrun {
namespace {

// Sets sizes of the trailing `spatial` axes; windows are made later, when the result is known to fit the memory.
Geometry start_geometry(const Tensor& x, std::size_t spatial) {
  const std::size_t rank = x.shape().size();
  if (rank != spatial + 1 && rank != spatial + 2) {
    throw SkipError("Pooling over " + std::to_string(spatial) + " axes expects an input of " +
                    std::to_string(spatial + 1) + " or " + std::to_string(spatial + 2) + " dimensions, not shape " +
                    tuple_text(x.shape()) + ".");
  }
  require_bounded(x.shape());
  Geometry geometry;
  geometry.result_shape = x.shape();
  for (std::size_t i = 0; i < rank - spatial; ++i) geometry.planes *= x.shape()[i];
  for (std::size_t i = 0; i < spatial; ++i) geometry.axes[3 - spatial + i].in = x.shape()[rank - spatial + i];
  return geometry;
}

}  // namespace

std::int64_t at_axis(const Dims& values, std::size_t axis, std::size_t count, const char* what) {
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  if (values.size() != 1 && values.size() != count) {
    throw SkipError(std::string("Pooling: ") + what + " must be one integer or " + std::to_string(count) +
                    " integers.");
  }
  const std::int64_t value = values.size() == 1 ? values[0] : values[axis];
  if (value < 0 || value >= limit) throw SkipError(std::string("Pooling: ") + what + " is out of range.");
  return value;
}

Geometry sliding_windows(const Tensor& x, std::size_t spatial, const PoolOptions& options) {
  Geometry geometry = start_geometry(x, spatial);
  const std::size_t first = x.shape().size() - spatial;
  struct Sizes {
    std::int64_t kernel;
    std::int64_t stride;
    std::int64_t padding;
  };
  std::array<Sizes, 3> sizes{};
  for (std::size_t i = 0; i < spatial; ++i) {
    PoolAxis& axis = geometry.axes[3 - spatial + i];
    Sizes& size = sizes[3 - spatial + i];
    size.kernel = at_axis(options.kernel, i, spatial, "kernel_size");
    size.stride = options.stride.empty() ? size.kernel : at_axis(options.stride, i, spatial, "stride");
    size.padding = at_axis(options.padding, i, spatial, "padding");
    axis.step = at_axis(options.dilation, i, spatial, "dilation");
    if (size.kernel < 1 || size.stride < 1 || axis.step < 1) {
      throw SkipError("Pooling: kernel_size, stride and dilation must be greater than 0.");
    }
    const std::int64_t span = axis.step * (size.kernel - 1) + 1;
    if (size.padding > span / 2) throw SkipError("Pooling: padding must be at most half of the kernel size.");
    const std::int64_t room = axis.in + 2 * size.padding - span + (options.ceil_mode ? size.stride - 1 : 0);
    axis.out = room < 0 ? 0 : room / size.stride + 1;
    if (options.ceil_mode && (axis.out - 1) * size.stride >= axis.in + size.padding) --axis.out;
    if (axis.out < 1)
      throw SkipError("Pooling: the output of an input of shape " + tuple_text(x.shape()) + " is too small.");
    geometry.result_shape[first + i] = axis.out;
  }
  if (element_count(geometry.result_shape) == 0) return geometry;
  double per_window = 1;
  for (std::size_t i = 3 - spatial; i < 3; ++i) {
    per_window *= static_cast<double>(std::min(sizes[i].kernel, geometry.axes[i].in));
  }
  take_work(per_window * static_cast<double>(element_count(geometry.result_shape)));
  for (std::size_t i = 3 - spatial; i < 3; ++i) {
    PoolAxis& axis = geometry.axes[i];
    axis.kernel = sizes[i].kernel;
    axis.stride = sizes[i].stride;
    axis.padding = sizes[i].padding;
    axis.windows.clear();
    check_tensor_memory(static_cast<std::size_t>(axis.out), sizeof(Window));
    axis.windows.reserve(static_cast<std::size_t>(axis.out));
    for (std::int64_t o = 0; o < axis.out; ++o) {
      const std::int64_t start = o * sizes[i].stride - sizes[i].padding;
      const std::int64_t stop = start + axis.step * (sizes[i].kernel - 1) + 1;
      const std::int64_t skipped = start < 0 ? (-start + axis.step - 1) / axis.step : 0;
      axis.windows.push_back(
          {start + skipped * axis.step, std::min(stop, axis.in), std::min(stop, axis.in + sizes[i].padding) - start});
    }
  }
  return geometry;
}

Geometry adaptive_windows(const Tensor& x, const std::vector<std::optional<std::int64_t>>& output_size) {
  const std::size_t spatial = output_size.size();
  Geometry geometry = start_geometry(x, spatial);
  const std::size_t first = x.shape().size() - spatial;
  for (std::size_t i = 0; i < spatial; ++i) {
    PoolAxis& axis = geometry.axes[3 - spatial + i];
    axis.out = output_size[i].value_or(axis.in);
    if (axis.in < 1 || axis.out < 0 || std::max(axis.in, axis.out) >= std::int64_t{1} << 31)
      throw SkipError("Adaptive pooling: sizes must not be negative or huge, and the input not empty.");
    geometry.result_shape[first + i] = axis.out;
  }
  if (element_count(geometry.result_shape) == 0) return geometry;
  for (std::size_t i = 3 - spatial; i < 3; ++i) {
    PoolAxis& axis = geometry.axes[i];
    axis.stride = 0;
    axis.windows.clear();
    check_tensor_memory(static_cast<std::size_t>(axis.out), sizeof(Window));
    axis.windows.reserve(static_cast<std::size_t>(axis.out));
    for (std::int64_t o = 0; o < axis.out; ++o) {
      const std::int64_t start = o * axis.in / axis.out;
      const std::int64_t stop = ((o + 1) * axis.in + axis.out - 1) / axis.out;
      axis.windows.push_back({start, stop, stop - start});
    }
  }
  return geometry;
}

std::int64_t most_windows(const Geometry& geometry) {
  std::int64_t most = 1;
  for (const auto& axis : geometry.axes) {
    std::int64_t of_axis = 1;
    std::size_t first = 0;
    // Windows begin and end one after the other.
    for (std::size_t last = 0; last < axis.windows.size(); ++last) {
      while (first < last && axis.windows[first].stop <= axis.windows[last].start) ++first;
      of_axis = std::max(of_axis, static_cast<std::int64_t>(last - first + 1));
    }
    most *= of_axis;
  }
  return most;
}

}  // namespace msrun
