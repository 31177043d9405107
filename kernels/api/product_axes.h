// Which axes of an operator's tensors are one index of a product.
//
// A product sums over the terms a[i, k] b[k, j]; its gradients are products of one factor and the gradient of the
// result. Each index stands along an axis of two of the three: i of a and of the result, k of a and b. Where both are
// replaced by the same combinations along that axis (some of its places, or sums of them), every tensor that has the
// index, the result or the gradient of a factor, becomes those combinations of itself. So a few of them can be
// computed without the rest. An operator that is such a product says so by a line under its NAMES:
//
//   PRODUCT_AXES("mm", axes_of_mm);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/api/operators.h"

namespace msrun {

// What a call gives to the parameters of its operator.
class GivenArguments {
 public:
  GivenArguments(const Signature& signature, const std::vector<Value>& values)
      : signature_(signature), values_(values) {}

  // Null for a parameter that the signature lacks, and for a value that is no Tensor.
  const Tensor* tensor(std::string_view parameter) const { return at<Tensor>(parameter); }
  std::optional<std::int64_t> integer(std::string_view parameter) const;
  bool flag(std::string_view parameter) const;

 private:
  template <class T>
  const T* at(std::string_view parameter) const {
    const Value* value = find(parameter);
    return value == nullptr ? nullptr : value->get<T>();
  }
  const Value* find(std::string_view parameter) const;

  const Signature& signature_;
  const std::vector<Value>& values_;
};

// One index of a product.
struct ProductAxis {
  struct Place {
    std::string_view parameter;
    std::int64_t axis = 0;  // negative axes count from the end
  };
  std::vector<Place> arguments;
  // The axis of the result; nothing for an index that is summed over.
  std::optional<std::int64_t> result = std::nullopt;
  // The result also holds a summand that is the same at all places of the index: combinations of the arguments give
  // no combinations of the result, but places give places.
  bool adds = false;
};

// No axes where the call is no product, or none whose indices are known.
using ProductAxesFunction = std::vector<ProductAxis> (*)(const GivenArguments& given);

// An axis of the product of one call: its arguments by their place among all tensors of the call, positional ones
// first, depth first, and axes from 0.
struct TensorAxis {
  struct Place {
    std::size_t tensor = 0;
    std::int64_t axis = 0;
  };
  std::int64_t size = 0;
  std::vector<Place> arguments;
  std::optional<std::int64_t> result;  // still negative if it counts from the end
  bool adds = false;
};

// Leaves of args and kwargs that are tensors are Tensors. None for an operator without a line, for one whose tensors
// do not fit each other.
std::vector<TensorAxis> product_axes(const Operator& op, const List& args, const Dict& kwargs);

// What a PRODUCT_AXES line leaves behind while the library is loaded.
struct ProductAxesRegistration {
  ProductAxesRegistration(const char* canonical, ProductAxesFunction axes);

  const char* canonical;
  ProductAxesFunction axes;
  const ProductAxesRegistration* next = nullptr;
};

#define PRODUCT_AXES(...) \
  static const ::msrun::ProductAxesRegistration MSRUN_CONCAT(product_axes_registration_, __COUNTER__)(__VA_ARGS__)

}  // namespace msrun
