#include "runner/check/layout.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace msrun {
namespace {

// Elements that are compared in search of a layout.
constexpr double most_comparisons = 1e7;

// NaN agrees with NaN and with nothing else.
double largest_difference(const Tensor& a, const Tensor& b) {
  const double* left = a.data<double>();
  const double* right = b.data<double>();
  double largest = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    if (left[i] == right[i] || (std::isnan(left[i]) && std::isnan(right[i]))) continue;
    const double difference = std::abs(left[i] - right[i]);
    largest = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(largest, difference);
  }
  return largest;
}

// Whether every size of `merged` is the product of neighbours in `shape`, in their order; sizes of 1 do not count.
bool merges_into(const Dims& shape, const Dims& merged) {
  std::size_t at = 0;
  for (const std::int64_t size : merged) {
    std::int64_t product = 1;
    while (product < size && at < shape.size()) product *= shape[at++];
    if (product != size) return false;
  }
  return std::all_of(shape.begin() + static_cast<std::ptrdiff_t>(at), shape.end(), [](auto size) { return size == 1; });
}

double factorial(std::size_t n) { return n < 2 ? 1 : static_cast<double>(n) * factorial(n - 1); }

}  // namespace

Layout nearest_layout(const Tensor& tensor, const Tensor& other, bool any_order) {
  Layout layout{Dims(tensor.shape().size()), other.shape()};
  std::iota(layout.axes.begin(), layout.axes.end(), 0);
  // Where axes of size 1 stand makes no difference.
  Dims moved;
  for (const std::int64_t axis : layout.axes) {
    if (tensor.size(axis) != 1) moved.push_back(axis);
  }
  const double comparisons = factorial(moved.size()) * static_cast<double>(tensor.numel());
  if (!any_order || moved.size() < 2 || comparisons > most_comparisons || is_complex(tensor.dtype())) return layout;
  const Tensor sought = other.to(DType::float64).contiguous();
  double smallest = std::numeric_limits<double>::infinity();
  Dims order = moved;
  Layout nearest = layout;
  do {
    Layout candidate = layout;
    std::size_t next = 0;
    for (std::int64_t& axis : candidate.axes) {
      if (tensor.size(axis) != 1) axis = order[next++];
    }
    // A kernel merges axes, or has them in another order, but does not write rows into what is as long as a column.
    Dims permuted;
    for (const std::int64_t axis : candidate.axes) permuted.push_back(tensor.size(axis));
    if (!merges_into(permuted, other.shape())) continue;
    const double difference = largest_difference(candidate.of(tensor).to(DType::float64).contiguous(), sought);
    if (difference < smallest) {
      smallest = difference;
      nearest = candidate;
    }
  } while (smallest > 0 && std::next_permutation(order.begin(), order.end()));
  return nearest;
}

}  // namespace msrun
