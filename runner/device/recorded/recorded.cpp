#include "runner/device/recorded/recorded.h"

#include <algorithm>
#include <string>

#include "kernels/api/last_steps.h"
#include "kernels/base/error.h"
#include "runner/device/python/operand_settings.h"
#include "runner/device/recorded/gradient_readings.h"

namespace msrun {
namespace {

// The place of a keyword argument among the parameters of the operator that takes all keywords of the call; 0 if none
// does.
std::size_t parameter_of(const Operator* op, const Dict& kwargs, std::string_view keyword) {
  const auto place = [](const Overload& overload, std::string_view name) {
    const std::vector<Parameter>& parameters = overload.signature.parameters();
    return static_cast<std::size_t>(std::ranges::find(parameters, name, &Parameter::name) - parameters.begin());
  };
  if (op == nullptr) return 0;
  for (const Overload& overload : op->overloads()) {
    const std::size_t count = overload.signature.parameters().size();
    if (std::ranges::all_of(kwargs, [&](const auto& entry) { return place(overload, entry.first) < count; }))
      return place(overload, keyword);
  }
  return 0;
}

std::vector<GradientSlot> slots_of(const MaterialisedCall& call, std::string_view operator_name) {
  std::vector<GradientSlot> slots;
  const auto add = [&](const Value& tree, bool positional, std::size_t parameter) {
    for_each_leaf(tree, [&](const Value& leaf) {
      const Tensor* tensor = leaf.get<Tensor>();
      if (tensor == nullptr) return;
      const bool wanted = slots.size() < call.requires_grad.size() && call.requires_grad[slots.size()];
      const bool differentiable = is_floating(tensor->dtype()) || is_complex(tensor->dtype());
      slots.push_back({tensor->shape(), wanted && differentiable, positional, parameter});
    });
  };
  for (const Value& arg : call.args) add(arg, true, 0);
  const Operator* op = find_canonical(operator_name);
  for (const auto& [key, value] : call.kwargs) add(value, false, parameter_of(op, call.kwargs, key));
  return slots;
}

// What the call returned is the first tensor that it was given, unchanged.
bool returned_its_argument(const DeviceCall& device_call) {
  const MaterialisedCall& call = device_call.materialised;
  const Operator* op = find_canonical(device_call.operator_name);
  const Tensor* output = call.recorded->outputs.front().get<Tensor>();
  const Tensor* argument = op == nullptr ? nullptr : first_argument(*op, call).as_tensor();
  return output != nullptr && argument != nullptr && bitwise_equal(*output, *argument);
}

// Why a gradient that is none of those expected may still be right; empty if it may not.
std::string doubt(const DeviceCall& device_call, RecordedGradients kind, bool ambiguous) {
  const MaterialisedCall& call = device_call.materialised;
  if (kind == RecordedGradients::of_passed_input) {
    if (!returned_its_argument(device_call)) return {};
    return call.parts.api + " may have returned its argument, whose own gradients the dump then holds.";
  }
  if (knows_last_steps(device_call.operator_name)) return {};
  if (kind == RecordedGradients::of_last_step) {
    return "The dump holds the gradients of the last step inside " + call.parts.api +
           ", which are not those of its arguments.";
  }
  return ambiguous ? "The dump's gradients cannot be told apart: several have the shape of one argument." : "";
}

class RecordedDevice final : public Device {
 public:
  explicit RecordedDevice(const RecordingOrigin& origin) : arithmetic_(arithmetic_of(origin)) {}

  DeviceArithmetic arithmetic() const override { return arithmetic_; }

  DeviceResult run(const DeviceCall& device_call) override {
    const MaterialisedCall& call = device_call.materialised;
    const bool empty = call.recorded && call.recorded->outputs.empty();
    // An empty list of MindSpore's recorder is a result without elements.
    if (!call.recorded || (empty && !call.gradients_by_argument)) {
      throw SkipError("The dump holds no output of this call.");
    }
    DeviceResult result;
    const List& outputs = call.recorded->outputs;
    result.output = outputs.size() == 1 ? outputs.front() : Value(outputs);
    if (!call.backward.run) return result;
    if (call.recorded->gradients.empty() && !(empty && call.recorded->gradient_problem.empty())) {
      result.backward_problem = call.recorded->gradient_problem.empty() ? "The dump holds no gradients of this call."
                                                                        : call.recorded->gradient_problem;
      return result;
    }
    if (call.gradients_by_argument) {
      result.gradients = call.recorded->gradients;
      return result;
    }
    const RecordedGradients kind = device_call.traits.gradients_recorded_of(call.parts.api);
    GradientPairing pairing = pair_gradients(kind, call.recorded->gradients, slots_of(call, device_call.operator_name));
    result.gradient_doubt = doubt(device_call, kind, pairing.ambiguous);
    result.gradients = std::move(pairing.readings.front());
    pairing.readings.erase(pairing.readings.begin());
    result.other_gradients = std::move(pairing.readings);
    result.recorded_gradients = tensors_of(call.recorded->gradients);
    return result;
  }

 private:
  DeviceArithmetic arithmetic_;
};

}  // namespace

DeviceArithmetic arithmetic_of(const RecordingOrigin& origin) {
  if (origin.device == "cpu") return {.half_rounding = HalfRounding::every_step};
  DeviceArithmetic arithmetic{.half_rounding = HalfRounding::between_kernels,
                              .operands = operands_by_settings(origin.device, origin.settings),
                              .stored_parts = stored_parts_by_settings(origin.device, origin.settings),
                              .settings_are_known = !origin.settings.empty(),
                              .device_is_known = !origin.device.empty()};
  if (arithmetic.settings_are_known) return arithmetic;
  // What GPUs round to by default is coarser than what NPUs do.
  const bool is_npu = origin.device == "npu";
  arithmetic.operands.convolutions = is_npu ? OperandRounding::hf32 : OperandRounding::truncated_tf32;
  if (is_npu) return arithmetic;
  arithmetic.operands.recurrences = OperandRounding::truncated_tf32;
  arithmetic.stored_parts = {.float16 = true, .bfloat16 = true};
  return arithmetic;
}

std::unique_ptr<Device> make_recorded_device(const RecordingOrigin& origin) {
  return std::make_unique<RecordedDevice>(origin);
}

}  // namespace msrun
