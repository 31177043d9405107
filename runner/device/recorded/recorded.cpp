#include "runner/device/recorded/recorded.h"

#include <algorithm>
#include <optional>

#include "kernels/base/error.h"

namespace msrun {
namespace {

const char* const no_gradient = "The dump holds no gradient of this argument's shape.";
const char* const ambiguous = "The dump's gradients cannot be told apart: several have the shape of this argument.";

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
  std::size_t next = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].wanted || (!slots[i].positional && !keywords)) continue;
    while (next < recorded.size() && tensor_of(recorded[next]) == nullptr) ++next;
    if (next == recorded.size() || !fits(recorded[next], slots[i])) return std::nullopt;
    result[i] = recorded[next++];
  }
  while (next < recorded.size() && tensor_of(recorded[next]) == nullptr) ++next;
  if (next != recorded.size()) return std::nullopt;
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
  return by_place(reordered, slots);
}

List by_shape(bool of_addmm, const List& recorded, const std::vector<GradientSlot>& slots) {
  List result = unpaired(slots);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].wanted) continue;
    const auto same_shape = [&](const GradientSlot& slot) { return slot.wanted && slot.shape == slots[i].shape; };
    const auto rivals = std::count_if(slots.begin(), slots.end(), same_shape);
    std::vector<Value> found;
    for (const Value& gradient : recorded) {
      if (tensor_of(gradient) == nullptr) continue;
      if (fits(gradient, slots[i])) {
        found.push_back(gradient);
      } else if (of_addmm && i == 1 && fits(transposed(gradient), slots[i])) {
        found.push_back(transposed(gradient));
      }
    }
    if (found.size() == 1 && rivals == 1) {
      result[i] = found.front();
    } else if (!found.empty()) {
      result[i] = Unsupported{ambiguous};
    }
  }
  return result;
}

std::vector<GradientSlot> slots_of(const MaterialisedCall& call) {
  std::vector<GradientSlot> slots;
  const auto add = [&](const Value& tree, bool positional) {
    for_each_leaf(tree, [&](const Value& leaf) {
      const Tensor* tensor = leaf.get<Tensor>();
      if (tensor == nullptr) return;
      const bool wanted = slots.size() < call.requires_grad.size() && call.requires_grad[slots.size()];
      const bool differentiable = is_floating(tensor->dtype()) || is_complex(tensor->dtype());
      slots.push_back({tensor->shape(), wanted && differentiable, positional});
    });
  };
  for (const Value& arg : call.args) add(arg, true);
  for (const auto& [key, value] : call.kwargs) add(value, false);
  return slots;
}

class RecordedDevice final : public Device {
 public:
  DeviceResult run(const DeviceCall& device_call) override {
    const MaterialisedCall& call = device_call.materialised;
    if (!call.recorded || call.recorded->outputs.empty()) throw SkipError("The dump holds no output of this call.");
    DeviceResult result;
    const List& outputs = call.recorded->outputs;
    result.output = outputs.size() == 1 ? outputs.front() : Value(outputs);
    if (!call.backward.run) return result;
    if (call.recorded->gradients.empty()) {
      result.backward_problem = call.recorded->gradient_problem.empty() ? "The dump holds no gradients of this call."
                                                                        : call.recorded->gradient_problem;
      return result;
    }
    GradientPairing pairing = pair_gradients(device_call.traits.gradients_recorded_of(call.parts.api), call.parts.api,
                                             call.recorded->gradients, slots_of(call));
    result.gradients = std::move(pairing.readings.front());
    pairing.readings.erase(pairing.readings.begin());
    result.other_gradients = std::move(pairing.readings);
    result.gradient_doubt = std::move(pairing.doubt);
    return result;
  }
};

}  // namespace

GradientPairing pair_gradients(RecordedGradients kind, std::string_view api, const List& recorded,
                               const std::vector<GradientSlot>& slots) {
  const bool of_addmm = kind == RecordedGradients::of_addmm;
  List leaves;
  for (const Value& value : recorded) for_each_leaf(value, [&](const Value& leaf) { leaves.push_back(leaf); });
  GradientPairing pairing;
  if (auto reading = by_place(leaves, slots)) pairing.readings.push_back(std::move(*reading));
  if (pairing.readings.empty()) {
    if (auto reading = by_order(leaves, slots, false)) pairing.readings.push_back(std::move(*reading));
  }
  if (pairing.readings.empty()) {
    if (auto reading = by_order(leaves, slots, true)) pairing.readings.push_back(std::move(*reading));
  }
  if (of_addmm) {
    if (auto reading = as_addmm(leaves, slots)) {
      if (!pairing.readings.empty()) {
        pairing.doubt = "The dump's gradients of linear may be in the order of its arguments or of its autograd node.";
      }
      pairing.readings.push_back(std::move(*reading));
    }
  }
  if (pairing.readings.empty()) pairing.readings.push_back(by_shape(of_addmm, leaves, slots));
  if (kind == RecordedGradients::of_last_step) {
    pairing.doubt = "The dump holds the gradients of the last step inside " + std::string(api) +
                    ", which are not those of its arguments.";
  } else if (kind == RecordedGradients::of_passed_input) {
    pairing.doubt = std::string(api) + " may have returned its argument, whose own gradients the dump then holds.";
  }
  return pairing;
}

std::unique_ptr<Device> make_recorded_device() { return std::make_unique<RecordedDevice>(); }

}  // namespace msrun
