#include "kernels/api/value.h"

#include <algorithm>

namespace msrun {

double recorded_elements(const TensorSpec& spec) {
  double count = 1;
  for (const std::int64_t size : spec.shape) {
    if (size <= 0) return 0;
    count = std::min(count * static_cast<double>(size), 1e30);
  }
  return count;
}

const TensorSpec* recorded_tensor(const Value& value) {
  const auto* spec = value.get<std::shared_ptr<const TensorSpec>>();
  return spec == nullptr ? nullptr : spec->get();
}

const TensorSpec* recorded_tensor(const List& args, std::size_t position) {
  return position < args.size() ? recorded_tensor(args[position]) : nullptr;
}

namespace {

// The arguments may be const.
auto* found(auto& args, auto& kwargs, std::size_t place, std::string_view name) {
  const auto named = std::ranges::find(kwargs, name, [](const auto& entry) { return std::string_view(entry.first); });
  if (named != kwargs.end()) return &named->second;
  return place < args.size() ? &args[place] : nullptr;
}

}  // namespace

const Value* argument_at(const List& args, const Dict& kwargs, std::size_t place, std::string_view name) {
  return found(args, kwargs, place, name);
}

Value* argument_at(List& args, Dict& kwargs, std::size_t place, std::string_view name) {
  return found(args, kwargs, place, name);
}

bool is_tensor(const Value& value) {
  return value.is<Tensor>() || value.is<Var>() || value.is<std::shared_ptr<const TensorSpec>>();
}

void for_each_leaf(const Value& value, const std::function<void(const Value&)>& visit) {
  if (const List* list = value.get<List>()) {
    for (const Value& item : *list) for_each_leaf(item, visit);
  } else if (const Dict* dict = value.get<Dict>()) {
    for (const auto& [key, item] : *dict) for_each_leaf(item, visit);
  } else {
    visit(value);
  }
}

Value transform_leaves(const Value& value, const std::function<Value(const Value&)>& change) {
  if (const List* list = value.get<List>()) {
    List result;
    result.reserve(list->size());
    for (const Value& item : *list) result.push_back(transform_leaves(item, change));
    return result;
  }
  if (const Dict* dict = value.get<Dict>()) {
    Dict result;
    result.reserve(dict->size());
    for (const auto& [key, item] : *dict) result.emplace_back(key, transform_leaves(item, change));
    return result;
  }
  return change(value);
}

std::string python_type(const Value& value) {
  struct Name {
    std::string operator()(const None&) const { return "NoneType"; }
    std::string operator()(bool) const { return "bool"; }
    std::string operator()(std::int64_t) const { return "int"; }
    std::string operator()(double) const { return "float"; }
    std::string operator()(const std::string&) const { return "str"; }
    std::string operator()(DType) const { return "torch.dtype"; }
    std::string operator()(const Slice&) const { return "slice"; }
    std::string operator()(const Ellipsis&) const { return "ellipsis"; }
    std::string operator()(const DeviceName&) const { return "torch.device"; }
    std::string operator()(const Unsupported&) const { return "object"; }
    std::string operator()(const std::shared_ptr<const TensorSpec>&) const { return "torch.Tensor"; }
    std::string operator()(const Tensor&) const { return "torch.Tensor"; }
    std::string operator()(const Var&) const { return "torch.Tensor"; }
    std::string operator()(const List&) const { return "list"; }
    std::string operator()(const Dict&) const { return "dict"; }
  };
  return std::visit(Name{}, value.variant());
}

}  // namespace msrun
