// What losses over classes share: indices and weights of classes, and how the losses of elements become a result. The
// class axis is 1, or 0 for an input without batch axis.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/ops/loss/loss.h"

namespace msrun {

// Throws SkipError for an input that is no floating tensor of at least one dimension.
std::int64_t class_count(const Var& x);

// The shape of a target of class indices.
Dims element_shape(const Var& x);

// Throws SkipError for a class that does not exist.
void require_class(std::int64_t index, std::int64_t classes);

// Class index of every element, -1 where it is ignored. Throws SkipError for a class that does not exist.
std::vector<std::int64_t> class_indices(const Var& x, const Tensor& target, std::optional<std::int64_t> ignored);

// Weight of every class, ones if there is no tensor.
template <class T>
std::vector<T> class_weights(const Tensor& weight, std::int64_t classes) {
  if (!weight.defined()) return std::vector<T>(static_cast<std::size_t>(classes), T{1});
  const Tensor wide = weight.to(std::is_same_v<T, double> ? DType::float64 : DType::float32).contiguous();
  return {wide.data<T>(), wide.data<T>() + classes};
}

// The parameter `weight`; undefined if it is not given. Throws SkipError unless it has an element for each class.
Tensor checked_weight(const Bound& args, std::int64_t classes);

// The losses of all elements reduced, and what one unit of gradient of the result means for every element.
struct Summary {
  Tensor result;
  double scale = 1;  // of an element's gradient under mean
};

// denominator: what mean divides by.
template <class T>
Summary summarise(const std::vector<T>& losses, const Dims& shape, Reduction reduction, double denominator, DType dtype,
                  const Summation& summation) {
  constexpr DType wide = std::is_same_v<T, double> ? DType::float64 : DType::float32;
  if (reduction == Reduction::none) return {Tensor::from<T>(wide, shape, losses).to(dtype)};
  if (reduction == Reduction::batchmean) throw SkipError("batchmean is not a valid value for reduction");
  const T total = row_sum<T>(static_cast<std::int64_t>(losses.size()), summation,
                             [&](std::int64_t i) { return losses[static_cast<std::size_t>(i)]; });
  const bool average = reduction == Reduction::mean;
  const T result = average ? total / static_cast<T>(denominator) : total;
  return {Tensor::from<T>(wide, {}, std::span<const T>(&result, 1)).to(dtype), average ? 1 / denominator : 1};
}

// The gradient of the result as a row of factors, one per element: a view with stride 0 where the result is one number.
Tensor element_gradients(const Tensor& gradient, const Dims& shape, DType wide);

}  // namespace msrun
