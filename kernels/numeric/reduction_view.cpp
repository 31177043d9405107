#include "kernels/numeric/reduction_view.h"

#include <algorithm>

#include "kernels/base/error.h"

namespace msrun {

ReductionView reduction_view(const Tensor& tensor, const Dims& axes) {
  const std::int64_t rank = tensor.rank();
  Dims reduced(static_cast<std::size_t>(std::max<std::int64_t>(rank, 1)));
  for (const std::int64_t axis : axes) {
    std::int64_t& mark = reduced[static_cast<std::size_t>(normalize_axis(axis, rank))];
    if (mark != 0) throw SkipError("A dimension appears twice in the list of dimensions to reduce.");
    mark = 1;
  }
  if (axes.empty()) std::fill(reduced.begin(), reduced.end(), 1);
  ReductionView view;
  Dims kept_outer;
  Dims middle;
  Dims kept_inner;
  bool scattered = false;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    if (reduced[at] != 0) {
      scattered = scattered || !kept_inner.empty();
      middle.push_back(axis);
      view.keepdim_shape.push_back(1);
    } else {
      (middle.empty() ? kept_outer : kept_inner).push_back(axis);
      view.keepdim_shape.push_back(tensor.shape()[at]);
      view.reduced_shape.push_back(tensor.shape()[at]);
    }
  }
  const auto product = [&](const Dims& list) {
    std::int64_t count = 1;
    for (const std::int64_t axis : list) count *= tensor.shape()[static_cast<std::size_t>(axis)];
    return count;
  };
  view.extent = product(middle);
  view.of_rows = kept_inner.empty();
  if (scattered) {
    Dims order = kept_outer;
    for (const std::int64_t axis : kept_inner) order.push_back(axis);
    for (const std::int64_t axis : middle) order.push_back(axis);
    view.tensor = tensor.permute(order).contiguous();
    view.outer = product(kept_outer) * product(kept_inner);
  } else {
    view.tensor = tensor.contiguous();
    view.outer = product(kept_outer);
    view.inner = product(kept_inner);
  }
  return view;
}

DType wide_dtype(DType dtype) {
  if (is_complex(dtype)) throw SkipError("This reduction of complex tensors is not supported.");
  if (dtype == DType::float64) return DType::float64;
  return is_floating(dtype) ? DType::float32 : DType::int64;
}

Dims reduced_shape(const Dims& shape, const Dims& axes, bool keepdim) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  Dims reduced(std::max<std::size_t>(shape.size(), 1), axes.empty() ? 1 : 0);
  for (const std::int64_t axis : axes) reduced[static_cast<std::size_t>(normalize_axis(axis, rank))] = 1;
  Dims result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (reduced[axis] == 0) {
      result.push_back(shape[axis]);
    } else if (keepdim) {
      result.push_back(1);
    }
  }
  return result;
}

std::int64_t reduced_count(const Dims& shape, const Dims& axes) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::int64_t count = 1;
  if (axes.empty()) {
    for (const std::int64_t size : shape) count *= size;
  }
  for (const std::int64_t axis : axes) {
    if (rank > 0) count *= shape[static_cast<std::size_t>(normalize_axis(axis, rank))];
  }
  return count;
}

Tensor expand_reduced(const Tensor& reduced, const Dims& shape, const Dims& axes) {
  return reduced.reshape(reduced_shape(shape, axes, true)).expand(shape);
}

}  // namespace msrun
