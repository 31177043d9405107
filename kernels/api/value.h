// Value: one argument or output of an API call, as a tree of everything that dump.json can hold
// (acc_check_pytorch.md 2.5, 2.6).
//
// A leaf that represents a tensor is a TensorSpec as recorded, a Tensor once it is materialised, and a Var while
// operators run on it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/autograd/tape.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// A tensor as the dumper described it. A statistic is absent where the dump has null or nothing.
struct TensorSpec {
  std::string dtype;  // the dump's text, "torch.float32"; may name a dtype that is not supported
  // Sizes as recorded, unchecked: may be negative, absurd, or more than a tensor can have.
  std::vector<std::int64_t> shape;
  std::optional<double> max;
  std::optional<double> min;
  std::optional<double> max_finite;  // Max_except_inf_nan: extremum over the finite elements
  std::optional<double> min_finite;
  std::optional<double> mean;
  std::optional<double> norm;
  bool requires_grad = false;
  std::string data_name;  // file under the data directory; empty in statistics mode
  std::string data_path;  // ATT only, takes precedence

  // The one of these that counts; empty if the tensor is in no file.
  const std::string& file() const { return data_path.empty() ? data_name : data_path; }
};

// Elements of the recorded shape: 0 if a size is 0 or negative, at most 1e30, so that products of two such counts stay
// finite.
double recorded_elements(const TensorSpec& spec);

struct None {
  bool operator==(const None&) const = default;
};
struct Ellipsis {
  bool operator==(const Ellipsis&) const = default;
};
struct Slice {
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> stop;
  std::optional<std::int64_t> step;
  bool operator==(const Slice&) const = default;
};
// torch.device: "npu:0", "cpu". Empty if the dump gave no name.
struct DeviceName {
  std::string text;
  bool operator==(const DeviceName&) const = default;
};
// Something recorded that cannot be rebuilt; using it is a SKIP with this reason.
struct Unsupported {
  std::string reason;
  // The recorder wrote {} in its place, as it does for objects that it does not know: positional dtypes, layouts.
  bool is_unknown_object = false;
};

class Value;
using List = std::vector<Value>;                          // list, tuple, torch.Size
using Dict = std::vector<std::pair<std::string, Value>>;  // in recorded order

class Value {
 public:
  using Variant = std::variant<None, bool, std::int64_t, double, std::string, DType, Slice, Ellipsis, DeviceName,
                               Unsupported, std::shared_ptr<const TensorSpec>, Tensor, Var, List, Dict>;

  Value() = default;
  template <class T, class = std::enable_if_t<std::is_constructible_v<Variant, T&&> &&
                                              !std::is_same_v<std::remove_cvref_t<T>, Value>>>
  Value(T&& value) : variant_(std::forward<T>(value)) {}  // NOLINT: a value is any of its alternatives

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(variant_);
  }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&variant_);
  }
  template <class T>
  T* get() {
    return std::get_if<T>(&variant_);
  }
  bool is_none() const { return is<None>(); }
  const Variant& variant() const { return variant_; }

 private:
  Variant variant_;
};

// The tensor of a Tensor or a Var; null for anything else, and for a tensor that is not defined.
inline const Tensor* tensor_in(const Value& value) {
  const Tensor* tensor = value.get<Tensor>();
  if (const Var* var = value.get<Var>()) tensor = &var->tensor();
  return tensor != nullptr && tensor->defined() ? tensor : nullptr;
}

// The recorded tensor that a value, or the argument at a position, stands for; null for anything else.
const TensorSpec* recorded_tensor(const Value& value);
const TensorSpec* recorded_tensor(const List& args, std::size_t position);

// The argument of a call that has a place among the positional ones and a name; null where it is not given.
const Value* argument_at(const List& args, const Dict& kwargs, std::size_t place, std::string_view name);
Value* argument_at(List& args, Dict& kwargs, std::size_t place, std::string_view name);

// A tensor leaf in any of its three forms.
bool is_tensor(const Value& value);

// Calls visit for every leaf, depth first: list elements and dict values in order.
void for_each_leaf(const Value& value, const std::function<void(const Value&)>& visit);

// A copy of the tree with every leaf replaced by change(leaf).
Value transform_leaves(const Value& value, const std::function<Value(const Value&)>& change);

// Python's name of the value's class: "int", "NoneType", "list", "torch.Tensor".
std::string python_type(const Value& value);

}  // namespace msrun
