#include "kernels/ops/index/fitting_masks.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace msrun {
namespace {

std::int64_t true_elements(const Tensor& mask) {
  const Tensor source = mask.contiguous();
  return std::count(source.data<bool>(), source.data<bool>() + source.numel(), true);
}

// The mask with as many true elements as that: the first of those that are too many, or too few, change.
Tensor with_true_elements(const Tensor& mask, std::int64_t wanted) {
  Tensor result = Tensor::zeros(DType::boolean, mask.shape());
  const Tensor source = mask.contiguous();
  const bool* from = source.data<bool>();
  bool* to = result.mutable_data<bool>();
  std::int64_t surplus = true_elements(source) - wanted;
  for (std::int64_t i = 0; i < source.numel(); ++i) {
    const bool changes = from[i] ? surplus > 0 : surplus < 0;
    to[i] = from[i] != changes;
    if (changes) surplus += from[i] ? -1 : 1;
  }
  return result;
}

void fit_to(Value& mask, std::int64_t wanted) {
  const Tensor* made = mask.get<Tensor>();
  if (wanted >= 0 && wanted <= made->numel()) mask = with_true_elements(*made, wanted);
}

enum class NoneInIndex { adds_an_axis, takes_an_axis };

// Which axis of what an index selects has an element for each true one of its masks.
class MaskedIndex {
 public:
  // x is what is indexed. Not `understood` where the index has no random mask, or items whose axes are not known here.
  MaskedIndex(const Value& recorded, Value& made, const Tensor& x, NoneInIndex none) : none_(none) {
    const List* all = recorded.get<List>();
    List* items = made.get<List>();
    if (all == nullptr || items == nullptr) {
      understood_ = add(recorded, made);
    } else {
      for (std::size_t i = 0; i < items->size() && understood_; ++i) understood_ = add((*all)[i], (*items)[i]);
    }
    const std::int64_t rest = x.rank() - taken_;
    understood_ = understood_ && !masks_.empty() && rest >= 0;
    if (!understood_) return;
    axes_ += rest;
    if (ellipsis_ == EllipsisPlace::in_front) first_ += rest;
    axis_ = parted_ || (parted_by_ellipsis_ && rest > 0) ? 0 : first_;
  }

  bool understood() const { return understood_; }
  const std::vector<Value*>& masks() const { return masks_; }
  // From the front, and how many axes follow it.
  std::int64_t axis() const { return axis_; }
  std::int64_t axes_behind() const { return axes_ - axis_; }
  // The length that other indices, which go with the masks element by element, give to the axis.
  std::optional<std::int64_t> length_of_others() const { return others_; }

 private:
  enum class EllipsisPlace { none, in_front, behind };  // of the first mask or index that goes with masks

  // Whether the item is understood.
  bool add(const Value& recorded, Value& made) {
    const Tensor* tensor = made.get<Tensor>();
    if (tensor != nullptr) return add_tensor(recorded, made, *tensor);
    if (made.is_none()) {
      taken_ += none_ == NoneInIndex::takes_an_axis ? 1 : 0;
      ++axes_;
    } else if (made.is<Slice>()) {
      ++taken_;
      ++axes_;
    } else if (made.is<std::int64_t>()) {
      ++taken_;
    } else if (made.is<Ellipsis>()) {
      ellipsis_ = any_ ? EllipsisPlace::behind : EllipsisPlace::in_front;
    } else {
      return false;
    }
    return true;
  }

  bool add_tensor(const Value& recorded, Value& made, const Tensor& tensor) {
    const bool is_mask = tensor.dtype() == DType::boolean;
    if (!is_mask && tensor.rank() == 0) {
      ++taken_;
      return true;
    }
    if (tensor.rank() == 0 || (!is_mask && tensor.rank() > 1) || tensor.dtype() == DType::uint8) return false;
    parted_ = parted_ || (any_ && axes_ != first_);
    parted_by_ellipsis_ = parted_by_ellipsis_ || ellipsis_ == EllipsisPlace::behind;
    if (!any_) first_ = axes_;
    any_ = true;
    taken_ += is_mask ? tensor.rank() : 1;
    if (is_mask && is_drawn(recorded)) {
      masks_.push_back(&made);
    } else {
      const std::int64_t length = is_mask ? true_elements(tensor) : tensor.numel();
      if (length != 1) others_ = length;
    }
    return true;
  }

  NoneInIndex none_;
  bool understood_ = true;
  std::vector<Value*> masks_;
  std::optional<std::int64_t> others_;
  std::int64_t taken_ = 0;  // axes of x
  std::int64_t axes_ = 0;   // of what is selected, without that of the masks
  EllipsisPlace ellipsis_ = EllipsisPlace::none;
  // Of the masks and the indices that go with them: whether there are any, how many axes are before the first of them,
  // and whether axes lie between them, so that theirs comes first.
  bool any_ = false;
  std::int64_t first_ = 0;
  bool parted_ = false;
  bool parted_by_ellipsis_ = false;
  std::int64_t axis_ = 0;
};

// length says how long the axis of the masks is; nothing: it may have any length.
template <class Length>
void fit_masks(DrawnCall& call, NoneInIndex none, Length length) {
  const Value* recorded = call.recorded(1, "indices");
  Value* made = call.made(1, "indices");
  const Tensor* x = call.tensor(0, "input");
  if (recorded == nullptr || made == nullptr || x == nullptr) return;
  const MaskedIndex index(*recorded, *made, *x, none);
  if (!index.understood()) return;
  std::optional<std::int64_t> wanted = index.length_of_others();
  if (!wanted) wanted = length(index);
  // Several masks go with each other element by element.
  if (!wanted && index.masks().size() > 1) wanted = true_elements(*index.masks().front()->get<Tensor>());
  if (!wanted) return;
  for (Value* mask : index.masks()) fit_to(*mask, *wanted);
}

// Values are stretched to what is selected, whose last axis goes with their last one.
void fit_to_values(DrawnCall& call, NoneInIndex none, std::string_view name) {
  fit_masks(call, none, [&](const MaskedIndex& index) -> std::optional<std::int64_t> {
    const Tensor* values = call.tensor(2, name);
    const std::int64_t axis = values == nullptr ? -1 : values->rank() - 1 - index.axes_behind();
    if (axis < 0 || values->size(axis) == 1) return std::nullopt;
    return values->size(axis);
  });
}

void fit_to_result(DrawnCall& call, NoneInIndex none) {
  fit_masks(call, none, [&](const MaskedIndex& index) -> std::optional<std::int64_t> {
    const Tensor* gradient = call.gradients.size() == 1 ? call.gradients.front().get<Tensor>() : nullptr;
    if (gradient == nullptr || index.axis() >= gradient->rank()) return std::nullopt;
    return gradient->size(index.axis());
  });
}

}  // namespace

void fit_mask_to_source(DrawnCall& call) {
  const Tensor* x = call.tensor(0, "input");
  const Tensor* mask = call.drawn(1, "mask");
  const Tensor* source = call.tensor(2, "source");
  if (x == nullptr || mask == nullptr || source == nullptr) return;
  if (mask->dtype() != DType::boolean || mask->numel() == 0) return;
  const std::int64_t places = element_count(broadcast_shapes(x->shape(), mask->shape()));
  // A source that has an element for every place says nothing of how many are used.
  if (source->numel() >= places || true_elements(*mask) == 0) return;
  fit_to(*call.made(1, "mask"), source->numel() / (places / mask->numel()));
}

void fit_masks_to_values(DrawnCall& call) { fit_to_values(call, NoneInIndex::adds_an_axis, "value"); }
void fit_masks_to_result(DrawnCall& call) { fit_to_result(call, NoneInIndex::adds_an_axis); }
void fit_listed_masks_to_values(DrawnCall& call) { fit_to_values(call, NoneInIndex::takes_an_axis, "values"); }
void fit_listed_masks_to_result(DrawnCall& call) { fit_to_result(call, NoneInIndex::takes_an_axis); }

}  // namespace msrun
