#include "runner/device/recorded/gradient_readings.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace msrun {
namespace {

const char* const no_gradient = "The dump holds no gradient of this argument's shape.";

// More pairings than these are not worth trying.
constexpr std::size_t most_readings = 24;
constexpr std::size_t most_steps = 10'000;

const Tensor* tensor_of(const Value& value) { return value.get<Tensor>(); }

bool fits(const Value& value, const GradientSlot& slot) {
  const Tensor* tensor = tensor_of(value);
  return tensor == nullptr || tensor->shape() == slot.shape;
}

Value transposed(const Value& value) {
  const Tensor* tensor = tensor_of(value);
  return tensor != nullptr && tensor->rank() == 2 ? Value(tensor->transpose(0, 1)) : value;
}

List unpaired(const std::vector<GradientSlot>& slots) {
  List result;
  for (const GradientSlot& slot : slots) {
    if (slot.wanted) {
      result.emplace_back(Unsupported{no_gradient});
    } else {
      result.emplace_back(None{});
    }
  }
  return result;
}

// One gradient per positional argument, None where there is none; the dumper may have added empty places.
std::optional<List> by_place(const List& recorded, const std::vector<GradientSlot>& slots) {
  List result = unpaired(slots);
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    if (tensor_of(recorded[i]) == nullptr) continue;
    const bool place = i < slots.size() && slots[i].positional && slots[i].wanted;
    if (!place || !fits(recorded[i], slots[i])) return std::nullopt;
    result[i] = recorded[i];
  }
  return result;
}

// One gradient per argument that has one, in order; with or without the keyword arguments.
std::optional<List> by_order(const List& recorded, const std::vector<GradientSlot>& slots, bool keywords) {
  List result = unpaired(slots);
  const List tensors = tensors_of(recorded);
  std::size_t next = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].wanted || (!slots[i].positional && !keywords)) continue;
    if (next == tensors.size() || !fits(tensors[next], slots[i])) return std::nullopt;
    result[i] = tensors[next++];
  }
  if (next != tensors.size()) return std::nullopt;
  return result;
}

// One gradient per argument that has one, with the keyword arguments in the order of the operator's parameters; nothing
// where the call has them in that order.
std::optional<List> by_parameters(const List& recorded, const std::vector<GradientSlot>& slots) {
  std::vector<std::size_t> order(slots.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(
      order, {}, [&](std::size_t slot) { return slots[slot].positional ? std::size_t{0} : slots[slot].parameter + 1; });
  if (std::ranges::is_sorted(order)) return std::nullopt;
  std::vector<GradientSlot> ordered;
  for (const std::size_t slot : order) ordered.push_back(slots[slot]);
  const std::optional<List> reading = by_order(recorded, ordered, true);
  if (!reading) return std::nullopt;
  List result(slots.size());
  for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = (*reading)[i];
  return result;
}

// addmm, which a linear layer is made of, gives bias, input, transposed weight.
std::optional<List> as_addmm(const List& recorded, const std::vector<GradientSlot>& slots) {
  if (slots.size() < 2) return std::nullopt;
  List reordered;
  if (slots.size() == 2 && recorded.size() == 2) {
    reordered = {recorded[0], transposed(recorded[1])};
  } else if (slots.size() == 3 && recorded.size() == 3) {
    reordered = {recorded[1], transposed(recorded[2]), recorded[0]};
  } else {
    return std::nullopt;
  }
  std::optional<List> reading = by_place(reordered, slots);
  return reading ? reading : by_order(reordered, slots, true);
}

// All ways to give as many gradients as possible to arguments of their shape, each to one.
class ShapePairing {
 public:
  ShapePairing(bool of_addmm, const List& recorded, const std::vector<GradientSlot>& slots)
      : of_addmm_(of_addmm),
        recorded_(tensors_of(recorded)),
        slots_(slots),
        used_(recorded_.size()),
        current_(unpaired(slots)) {
    pair_from(0, 0);
  }

  GradientPairing result() && {
    // So many tensors that none was paired before the steps ran out.
    if (readings_.empty()) readings_.push_back(unpaired(slots_));
    const bool ambiguous = overflow_ || readings_.size() > 1;
    return {std::move(readings_), ambiguous};
  }

 private:
  void pair_from(std::size_t slot, std::size_t paired) {
    overflow_ = overflow_ || ++steps_ > most_steps;
    // A gradient less than in the best pairing so far cannot be made up for.
    if (overflow_ || paired + (slots_.size() - slot) < most_) return;
    if (slot == slots_.size()) {
      take(paired);
      return;
    }
    for (std::size_t i = 0; slots_[slot].wanted && i < recorded_.size(); ++i) {
      const std::optional<Value> value = used_[i] ? std::nullopt : as_gradient_of(recorded_[i], slot);
      if (!value) continue;
      const Value before = std::exchange(current_[slot], *value);
      used_[i] = true;
      pair_from(slot + 1, paired + 1);
      used_[i] = false;
      current_[slot] = before;
    }
    pair_from(slot + 1, paired);
  }

  void take(std::size_t paired) {
    if (paired > most_) readings_.clear();
    most_ = paired;
    if (paired == 0 && !readings_.empty()) return;
    overflow_ = readings_.size() == most_readings;
    if (!overflow_) readings_.push_back(current_);
  }

  std::optional<Value> as_gradient_of(const Value& gradient, std::size_t slot) const {
    if (fits(gradient, slots_[slot])) return gradient;
    if (of_addmm_ && slot == 1 && fits(transposed(gradient), slots_[slot])) return transposed(gradient);
    return std::nullopt;
  }

  bool of_addmm_;
  List recorded_;
  const std::vector<GradientSlot>& slots_;
  std::vector<bool> used_;
  List current_;
  std::vector<List> readings_;
  std::size_t most_ = 0;
  std::size_t steps_ = 0;
  bool overflow_ = false;
};

}  // namespace

List tensors_of(const List& recorded) {
  List tensors;
  for (const Value& value : recorded) {
    for_each_leaf(value, [&](const Value& leaf) {
      if (leaf.is<Tensor>()) tensors.push_back(leaf);
    });
  }
  return tensors;
}

GradientPairing pair_gradients(RecordedGradients kind, const List& recorded, const std::vector<GradientSlot>& slots) {
  const bool of_addmm = kind == RecordedGradients::of_addmm;
  List leaves;
  for (const Value& value : recorded) for_each_leaf(value, [&](const Value& leaf) { leaves.push_back(leaf); });
  GradientPairing pairing;
  const auto add = [&](std::optional<List> reading) {
    if (reading) pairing.readings.push_back(std::move(*reading));
  };
  add(by_place(leaves, slots));
  if (pairing.readings.empty()) add(by_order(leaves, slots, false));
  if (pairing.readings.empty()) add(by_order(leaves, slots, true));
  add(by_parameters(leaves, slots));
  if (of_addmm) add(as_addmm(leaves, slots));
  return pairing.readings.empty() ? ShapePairing(of_addmm, leaves, slots).result() : pairing;
}

}  // namespace msrun
