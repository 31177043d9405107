#include "kernels/io/graph_engine/device_layout.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

namespace msrun {
namespace {

using Sizes = std::vector<std::int64_t>;

std::int64_t product(Sizes::const_iterator first, Sizes::const_iterator last) {
  return std::accumulate(first, last, std::int64_t{1}, std::multiplies<>());
}

StoredAxis plain_axis(std::int64_t size, std::int64_t stride) { return {size, size, 0, stride}; }

// `blocks` blocks of `block` elements each.
StoredAxis blocked_axis(std::int64_t blocks, std::int64_t outer_stride, std::int64_t block, std::int64_t stride) {
  return {blocks * block, block, outer_stride, stride, blocks};
}

// Keeps the leading elements of each axis, up to the logical size (torchair.md 6, step 5).
void cut(std::vector<StoredAxis>& axes, const Sizes& original) {
  if (original.empty() || axes.size() < original.size()) return;
  for (std::size_t k = 0; k < original.size(); ++k) axes[k].size = std::min(axes[k].size, original[k]);
}

Sizes sizes_of(const std::vector<StoredAxis>& axes) {
  Sizes sizes;
  for (const StoredAxis& axis : axes) sizes.push_back(axis.size);
  return sizes;
}

std::optional<LogicalLayout> from_axes(std::vector<StoredAxis> axes, const Sizes& original) {
  cut(axes, original);
  Sizes sizes = sizes_of(axes);
  return LogicalLayout{std::move(sizes), std::move(axes)};
}

// [batch..., C1, N1, N0, C0], blocks of rows and columns.
std::optional<LogicalLayout> from_fractal_nz(const Sizes& s, const Sizes& original) {
  if (s.size() < 4 || original.empty()) return std::nullopt;
  const std::int64_t c1 = s[s.size() - 4];
  const std::int64_t n1 = s[s.size() - 3];
  const std::int64_t n0 = s[s.size() - 2];
  const std::int64_t c0 = s[s.size() - 1];
  const std::int64_t rows = std::min(original.size() == 1 ? 1 : original[original.size() - 2], n1 * n0);
  const std::int64_t columns = std::min(original.back(), c1 * c0);
  const std::int64_t batch = product(s.begin(), s.end() - 4);
  std::int64_t matched = batch;
  for (std::size_t k = 0; k + 2 < original.size(); ++k) {
    if (original[k] <= 0 || matched % original[k] != 0) return std::nullopt;
    matched /= original[k];
  }
  if (matched != 1) return std::nullopt;
  StoredAxis row = blocked_axis(n1, n0 * c0, n0, c0);
  StoredAxis column = blocked_axis(c1, n1 * n0 * c0, c0, 1);
  row.size = rows;
  column.size = columns;
  LogicalLayout layout{original, {}};
  layout.shape.back() = columns;
  if (original.size() > 1) layout.shape[original.size() - 2] = rows;
  if (batch > 1) layout.axes.push_back(plain_axis(batch, c1 * n1 * n0 * c0));
  layout.axes.push_back(row);
  layout.axes.push_back(column);
  return layout;
}

// [N, C1, H, W, C0]
std::optional<LogicalLayout> from_nc1hwc0(const Sizes& s, const Sizes& original) {
  if (s.size() != 5) return std::nullopt;
  const std::int64_t pixels = s[2] * s[3];
  return from_axes({plain_axis(s[0], s[1] * pixels * s[4]), blocked_axis(s[1], pixels * s[4], s[4], 1),
                    plain_axis(s[2], s[3] * s[4]), plain_axis(s[3], s[4])},
                   original);
}

// [N, D, C1, H, W, C0]
std::optional<LogicalLayout> from_ndc1hwc0(const Sizes& s, const Sizes& original) {
  if (s.size() != 6) return std::nullopt;
  const std::int64_t pixels = s[3] * s[4];
  return from_axes({plain_axis(s[0], s[1] * s[2] * pixels * s[5]), blocked_axis(s[2], pixels * s[5], s[5], 1),
                    plain_axis(s[1], s[2] * pixels * s[5]), plain_axis(s[3], s[4] * s[5]), plain_axis(s[4], s[5])},
                   original);
}

// [C1 * H * W, N1, N0, C0] for [N, C, H, W]
std::optional<LogicalLayout> from_fractal_z(const Sizes& s, const Sizes& original) {
  if (s.size() != 4) return std::nullopt;
  const std::int64_t height = original[2];
  const std::int64_t width = original[3];
  if (height <= 0 || width <= 0 || height > s[0] / width || s[0] % (height * width) != 0) return std::nullopt;
  const std::int64_t tile = s[1] * s[2] * s[3];
  return from_axes({blocked_axis(s[1], s[2] * s[3], s[2], s[3]),
                    blocked_axis(s[0] / (height * width), height * width * tile, s[3], 1),
                    plain_axis(height, width * tile), plain_axis(width, tile)},
                   original);
}

std::optional<LogicalLayout> permuted(const Sizes& s, const Sizes& order, const Sizes& original) {
  std::vector<StoredAxis> axes;
  for (const std::int64_t axis : order) axes.push_back(plain_axis(s[axis], product(s.begin() + axis + 1, s.end())));
  return from_axes(std::move(axes), original);
}

std::optional<LogicalLayout> convert(std::int32_t format, std::int32_t sub_format, const Sizes& stored,
                                     const Sizes& original) {
  const bool to_nchw = original.size() == 4;
  switch (format) {
    case ge_format::fractal_nz:
      return from_fractal_nz(stored, original);
    case ge_format::nc1hwc0:
      return to_nchw ? from_nc1hwc0(stored, original) : std::nullopt;
    case ge_format::fractal_z:
      return to_nchw && sub_format < 2 ? from_fractal_z(stored, original) : std::nullopt;
    case ge_format::ndc1hwc0:
      return original.size() == 5 ? from_ndc1hwc0(stored, original) : std::nullopt;
    case ge_format::nhwc:
      return to_nchw && stored.size() == 4 ? permuted(stored, {0, 3, 1, 2}, original) : std::nullopt;
    case ge_format::hwcn:
      return to_nchw && stored.size() == 4 ? permuted(stored, {3, 2, 0, 1}, original) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Whether walking the axes in order visits the stored elements one after the other, and all of them.
bool in_stored_order(const std::vector<StoredAxis>& axes, std::int64_t stored_count) {
  std::int64_t stride = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const StoredAxis& axis = axes[i];
    if (axis.size == 1) continue;
    const bool whole = axis.size <= axis.block || axis.outer_stride == axis.block * axis.stride;
    if (axis.stride != stride || !whole) return false;
    stride *= axis.size;
  }
  return stride == stored_count;
}

}  // namespace

LogicalLayout logical_layout(std::int32_t format, std::int32_t sub_format, const Sizes& stored, const Sizes& original) {
  std::optional<LogicalLayout> layout = convert(format, sub_format, stored, original);
  if (!layout) return {stored, {}};
  if (in_stored_order(layout->axes, product(stored.begin(), stored.end()))) layout->axes.clear();
  return std::move(*layout);
}

}  // namespace msrun
