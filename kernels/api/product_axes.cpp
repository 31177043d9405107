#include "kernels/api/product_axes.h"

#include <string>
#include <utility>

namespace msrun {
namespace {

// Constant-initialised, so that it is there before the first line of any file.
constinit const ProductAxesRegistration* newest_axes = nullptr;

ProductAxesFunction registered_axes(std::string_view canonical) {
  for (const ProductAxesRegistration* line = newest_axes; line != nullptr; line = line->next) {
    if (canonical == line->canonical) return line->axes;
  }
  return nullptr;
}

// The call's tensors in order, and its arguments with a number in place of each, so that binding tells which parameter
// has which.
struct NumberedCall {
  std::vector<const Tensor*> tensors;
  List args;
  Dict kwargs;

  NumberedCall(const List& given_args, const Dict& given_kwargs) {
    const auto numbered = [this](const Value& leaf) -> Value {
      const Tensor* tensor = leaf.get<Tensor>();
      if (tensor == nullptr) return leaf;
      tensors.push_back(tensor);
      return Tensor::scalar(static_cast<std::int64_t>(tensors.size() - 1));
    };
    for (const Value& arg : given_args) args.push_back(transform_leaves(arg, numbered));
    for (const auto& [key, value] : given_kwargs) kwargs.emplace_back(key, transform_leaves(value, numbered));
  }
};

std::optional<TensorAxis> resolved(const ProductAxis& axis, const GivenArguments& numbers,
                                   const std::vector<const Tensor*>& tensors) {
  TensorAxis found;
  found.result = axis.result;
  found.adds = axis.adds;
  for (const auto& [parameter, at] : axis.arguments) {
    const Tensor* number = numbers.tensor(parameter);
    if (number == nullptr) return std::nullopt;
    const auto place = static_cast<std::size_t>(number->int_item());
    const std::int64_t rank = tensors[place]->rank();
    const std::int64_t from_start = at < 0 ? at + rank : at;
    if (from_start < 0 || from_start >= rank) return std::nullopt;
    const std::int64_t size = tensors[place]->size(from_start);
    if (!found.arguments.empty() && size != found.size) return std::nullopt;
    found.size = size;
    found.arguments.push_back({place, from_start});
  }
  return found;
}

}  // namespace

const Value* GivenArguments::find(std::string_view parameter) const {
  const std::vector<Parameter>& parameters = signature_.parameters();
  for (std::size_t i = 0; i < parameters.size() && i < values_.size(); ++i) {
    if (parameters[i].name == parameter) return &values_[i];
  }
  return nullptr;
}

std::optional<std::int64_t> GivenArguments::integer(std::string_view parameter) const {
  const std::int64_t* value = at<std::int64_t>(parameter);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

bool GivenArguments::flag(std::string_view parameter) const {
  const bool* value = at<bool>(parameter);
  return value != nullptr ? *value : integer(parameter).value_or(0) != 0;
}

ProductAxesRegistration::ProductAxesRegistration(const char* canonical_name, ProductAxesFunction function)
    : canonical(canonical_name), axes(function), next(newest_axes) {
  newest_axes = this;
}

std::vector<TensorAxis> product_axes(const Operator& op, const List& args, const Dict& kwargs) {
  const ProductAxesFunction function = registered_axes(op.name);
  if (function == nullptr) return {};
  const NumberedCall numbered(args, kwargs);
  for (const Overload& overload : op.overloads()) {
    std::string problem;
    const std::optional<std::vector<Value>> values = overload.signature.bind(args, kwargs, problem);
    if (!values) continue;
    const std::optional<std::vector<Value>> numbers = overload.signature.bind(numbered.args, numbered.kwargs, problem);
    if (!numbers) return {};
    std::vector<TensorAxis> axes;
    for (const ProductAxis& axis : function(GivenArguments(overload.signature, *values))) {
      std::optional<TensorAxis> found = resolved(axis, GivenArguments(overload.signature, *numbers), numbered.tensors);
      if (!found) return {};
      axes.push_back(std::move(*found));
    }
    return axes;
  }
  return {};
}

}  // namespace msrun
