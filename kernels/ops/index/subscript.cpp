#include "kernels/ops/index/subscript.h"

#include <algorithm>
#include <span>

#include "kernels/base/error.h"

namespace msrun {
namespace {

// Lists of numbers, bools or 0-d tensors, nested to any depth.
class NestedIndex {
 public:
  explicit NestedIndex(const List& list) {
    shape_.push_back(static_cast<std::int64_t>(list.size()));
    for (const List* inner = &list; !inner->empty() && inner->front().is<List>();) {
      inner = inner->front().get<List>();
      shape_.push_back(static_cast<std::int64_t>(inner->size()));
    }
    collect(list, 0);
  }

  // Integers are indices. Bools are a mask.
  Tensor tensor() const {
    const Tensor index = Tensor::from<std::int64_t>(DType::int64, shape_, std::span<const std::int64_t>(numbers_));
    return bools_ && !integers_ ? index.to(DType::boolean) : index;
  }

 private:
  void collect(const List& list, std::size_t depth) {
    if (static_cast<std::int64_t>(list.size()) != shape_[depth])
      throw SkipError("The lists used as an index must have one length.");
    for (const Value& item : list) {
      const List* inner = item.get<List>();
      if ((inner != nullptr) != (depth + 1 < shape_.size()))
        throw SkipError("The lists used as an index must have one depth.");
      if (inner != nullptr) {
        collect(*inner, depth + 1);
      } else {
        add(item);
      }
    }
  }

  void add(const Value& item) {
    const Var* tensor = item.get<Var>();
    if (const bool* flag = item.get<bool>()) {
      numbers_.push_back(*flag ? 1 : 0);
      bools_ = true;
    } else if (const auto* number = item.get<std::int64_t>()) {
      numbers_.push_back(*number);
      integers_ = true;
    } else if (tensor != nullptr && tensor->numel() == 1 && !is_floating(tensor->dtype())) {
      numbers_.push_back(tensor->tensor().int_item());
      (tensor->dtype() == DType::boolean ? bools_ : integers_) = true;
    } else {
      throw SkipError("A list used as an index must hold integers or bools.");
    }
  }

  Dims shape_;
  std::vector<std::int64_t> numbers_;
  bool bools_ = false;
  bool integers_ = false;
};

bool is_mask(const Tensor& index) { return index.dtype() == DType::boolean || index.dtype() == DType::uint8; }

// How many axes of the tensor an item consumes.
std::int64_t consumed_axes(const Value& item) {
  if (item.is_none() || item.is<Ellipsis>() || item.is<bool>()) return 0;
  if (const List* list = item.get<List>()) {
    const Tensor index = NestedIndex(*list).tensor();
    return is_mask(index) ? index.rank() : 1;
  }
  const Var* index = item.get<Var>();
  return index != nullptr && is_mask(index->tensor()) ? index->rank() : 1;
}

void apply_item(Subscript& subscript, const Value& item) {
  const auto axis = [&] {
    std::int64_t covered = 0;
    for (const Tensor& index : subscript.indices) covered += index.defined() && is_mask(index) ? index.rank() : 1;
    return covered;
  }();
  Tensor& view = subscript.view;
  const auto need_axis = [&] {
    if (axis >= view.rank()) throw SkipError("Too many indices for the tensor.");
  };
  const auto add_index = [&](const Tensor& index) {
    subscript.indices.push_back(index);
    subscript.advanced = true;
  };
  if (item.is_none()) {
    view = view.unsqueeze(axis);
    subscript.indices.emplace_back();
  } else if (const bool* flag = item.get<bool>()) {
    view = view.unsqueeze(axis);
    add_index(Tensor::zeros(DType::int64, Dims{*flag ? 1 : 0}));
  } else if (const auto* number = item.get<std::int64_t>()) {
    need_axis();
    view = view.select(axis, *number);
  } else if (const Slice* slice = item.get<Slice>()) {
    need_axis();
    view = sliced(view, axis, *slice);
    subscript.indices.emplace_back();
  } else if (const Var* index = item.get<Var>()) {
    if (index->rank() == 0 && is_mask(index->tensor())) {
      apply_item(subscript, index->tensor().item() != 0);
    } else if (index->rank() == 0) {
      apply_item(subscript, index_values(index->tensor()).int_item());
    } else {
      need_axis();
      add_index(index->tensor());
    }
  } else if (const List* list = item.get<List>()) {
    need_axis();
    add_index(NestedIndex(*list).tensor());
  } else {
    throw SkipError("A tensor cannot be indexed with a value of type " + python_type(item) + ".");
  }
}

}  // namespace

Subscript make_subscript(const Tensor& x, const Value& index) {
  const Tensor source = x.contiguous();
  Subscript subscript{source, source, {}, false};
  const List* tuple = index.get<List>();
  const List items = tuple != nullptr ? *tuple : List{index};
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is<Ellipsis>()) {
      apply_item(subscript, items[i]);
      continue;
    }
    std::int64_t later = 0;
    for (std::size_t k = i + 1; k < items.size(); ++k) later += consumed_axes(items[k]);
    std::int64_t covered = 0;
    for (const Tensor& entry : subscript.indices) covered += entry.defined() && is_mask(entry) ? entry.rank() : 1;
    for (std::int64_t axis = covered; axis < subscript.view.rank() - later; ++axis) subscript.indices.emplace_back();
  }
  return subscript;
}

Selection subscript_selection(const Subscript& subscript) {
  return subscript.advanced ? advanced_selection(subscript.source, subscript.view, subscript.indices)
                            : view_selection(subscript.source, subscript.view);
}

std::vector<Tensor> index_list(const Value& indices) {
  const List* list = indices.get<List>();
  if (list == nullptr) throw SkipError("The indices must be a list of tensors.");
  std::vector<Tensor> result;
  for (const Value& item : *list) {
    if (item.is_none()) {
      result.emplace_back();
    } else if (const Var* index = item.get<Var>()) {
      result.push_back(index->tensor());
    } else {
      throw SkipError("The indices must be a list of tensors.");
    }
  }
  return result;
}

Tensor sliced(const Tensor& view, std::int64_t axis, const Slice& slice) {
  const std::int64_t size = view.size(axis);
  const std::int64_t step = slice.step.value_or(1);
  if (step < 1) throw SkipError("The step of a slice must be positive.");
  const auto bound = [size](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
  const std::int64_t start = bound(slice.start.value_or(0));
  const std::int64_t stop = bound(slice.stop.value_or(size));
  const std::int64_t length = stop > start ? (stop - start - 1) / step + 1 : 0;
  return view.slice(axis, start, length, std::min(step, std::max<std::int64_t>(size, 1)));
}

}  // namespace msrun
