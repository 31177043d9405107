#include "kernels/compare/choices/order_choice.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "kernels/api/value.h"

namespace msrun {
namespace {

// One of several outputs, or the only one.
const Tensor* output_at(const Value& outputs, std::size_t i) {
  const List* list = outputs.get<List>();
  if (list == nullptr) return i == 0 ? tensor_in(outputs) : nullptr;
  return i < list->size() ? tensor_in((*list)[i]) : nullptr;
}

// NaN is the largest value, as torch orders it.
template <class T>
bool less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a < b || (std::isnan(b) && !std::isnan(a));
  return a < b;
}

// The positions in each row of values along the last axis in rising order; those of equal values by their indices.
template <class T>
std::vector<std::int64_t> rising(const Tensor& rows, const Tensor& indices) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(rows.numel()));
  const std::int64_t extent = rows.size(-1);
  for (std::int64_t start = 0; start < rows.numel(); start += extent) {
    const T* value = rows.data<T>() + start;
    const std::int64_t* index = indices.defined() ? indices.data<std::int64_t>() + start : nullptr;
    const auto first = positions.begin() + start;
    std::iota(first, first + extent, std::int64_t{0});
    std::stable_sort(first, first + extent, [=](std::int64_t a, std::int64_t b) {
      if (less(value[a], value[b]) || less(value[b], value[a])) return less(value[a], value[b]);
      return index != nullptr && index[a] < index[b];
    });
  }
  return positions;
}

Tensor in_rows(const Tensor& tensor, std::int64_t axis) { return tensor.transpose(axis, -1).contiguous(); }

std::vector<std::int64_t> rising_positions(const OpenOrder& open, const Value& outputs) {
  const Tensor& values = *output_at(outputs, 0);
  const Tensor* beside = open.kind == OpenOrder::Kind::rows ? output_at(outputs, 1) : nullptr;
  Tensor indices;
  if (beside != nullptr && beside->shape() == values.shape()) indices = in_rows(beside->to(DType::int64), open.axis);
  const Tensor rows = in_rows(values, open.axis);
  return is_floating(values.dtype()) ? rising<double>(rows.to(DType::float64), indices)
                                     : rising<std::int64_t>(rows.to(DType::int64), indices);
}

// The elements of each row at the positions.
Tensor taken(const Tensor& tensor, std::int64_t axis, const std::vector<std::int64_t>& positions) {
  const Tensor rows = in_rows(tensor, axis);
  Tensor result(rows.dtype(), rows.shape());
  const std::size_t bytes = size_of(rows.dtype());
  const std::int64_t extent = rows.size(-1);
  auto* target = result.mutable_data<std::byte>();
  for (std::int64_t i = 0; i < rows.numel(); ++i) {
    const std::int64_t from = i - i % extent + positions[static_cast<std::size_t>(i)];
    std::memcpy(target + static_cast<std::size_t>(i) * bytes, rows.raw() + static_cast<std::size_t>(from) * bytes,
                bytes);
  }
  return result.transpose(axis, -1).contiguous();
}

// Groups named by their places in one order, named by those in another.
Tensor renamed(const Tensor& places, const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> place_of(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place_of[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  Tensor result = places.to(DType::int64).contiguous().clone();
  auto* place = result.mutable_data<std::int64_t>();
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    const bool known = place[i] >= 0 && place[i] < std::ssize(place_of);
    if (known) place[i] = place_of[static_cast<std::size_t>(place[i])];
  }
  return result.to(places.dtype());
}

}  // namespace

std::optional<OrderChoice> OrderChoice::find(const OpenOrder& open, const Value& bench, const Value& device) {
  const Tensor* expected = output_at(bench, 0);
  const Tensor* actual = output_at(device, 0);
  if (expected == nullptr || actual == nullptr || expected->shape() != actual->shape()) return std::nullopt;
  if (is_complex(expected->dtype()) || is_complex(actual->dtype())) return std::nullopt;
  const std::int64_t rank = expected->rank();
  if (rank == 0 || expected->numel() == 0 || open.axis < -rank || open.axis >= rank) return std::nullopt;
  const std::vector<std::int64_t> of_bench = rising_positions(open, bench);
  const std::vector<std::int64_t> of_device = rising_positions(open, device);
  if (of_bench == of_device) return std::nullopt;
  OrderChoice choice;
  choice.open_ = open;
  choice.shape_ = expected->shape();
  choice.order_.resize(of_bench.size());
  const std::int64_t extent = expected->shape()[static_cast<std::size_t>(open.axis < 0 ? open.axis + rank : open.axis)];
  for (std::int64_t i = 0; i < std::ssize(of_bench); ++i) {
    const std::int64_t start = i - i % extent;
    choice.order_[static_cast<std::size_t>(start + of_bench[static_cast<std::size_t>(i)])] =
        of_device[static_cast<std::size_t>(i)];
  }
  return choice;
}

Value OrderChoice::turned(const Value& outputs) const {
  const List* list = outputs.get<List>();
  List items = list != nullptr ? *list : List{outputs};
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Tensor* tensor = tensor_in(items[i]);
    if (tensor == nullptr) continue;
    if (open_.has_places && i == 1) {
      if (is_integer(tensor->dtype())) items[i] = renamed(*tensor, order_);
    } else if (tensor->shape() == shape_) {
      items[i] = taken(*tensor, open_.axis, order_);
    }
  }
  if (list != nullptr) return items;
  return items.front();
}

}  // namespace msrun
