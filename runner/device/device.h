// Devices under test. A device gets a materialised call and returns outputs and gradients; it never compares, and knows
// nothing of how msrun evaluates a call itself.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/operator_traits.h"
#include "kernels/evaluate/materialise.h"
#include "kernels/tensor/arithmetic.h"

namespace msrun {

struct DeviceCall {
  // Tensors, name and what is asked for. Outlives the run.
  const MaterialisedCall& materialised;
  // The canonical name of the operator that was recorded: "linalg_vector_norm" for Torch.vector_norm.
  std::string_view operator_name;
  const OperatorTraits& traits;
  // Which output alone is differentiated; unset: all for which the call has a gradient.
  std::optional<std::size_t> only_output;
  // Which of the runs of this call it is, from 0; a call may be run several times, with the same inputs.
  std::uint32_t run = 0;
  // The rank that has recorded the call, where there are several: "step0/rank3". It says nothing about inputs.
  std::string_view rank = {};
};

struct DeviceResult {
  // What the call returned; tensor leaves are contiguous Tensors.
  Value output;
  // One per tensor in args, then one per tensor in kwargs, depth first: Tensor, or None where no gradient was asked
  // for. Empty if the call asks for no backward.
  List gradients;
  // Why the backward could not be run although it was asked for; empty otherwise.
  std::string backward_problem;
  // What a device can add that only remembers: further ways to read the gradients as those of the arguments, and the
  // tensors that were recorded, in their order, which may be the gradients of a step inside the call
  // (kernels/api/last_steps.h).
  std::vector<List> other_gradients;
  List recorded_gradients;
  // Why none of this may be right, and a difference so proves nothing; empty if one of it is.
  std::string gradient_doubt;
};

// Where a device is made: in the runner of that id, for all calls or for one.
struct DeviceSeat {
  std::int32_t device_id = 0;
  // One call has its last attempt, after the deaths of its runners.
  bool alone = false;
  // Bytes that all calls in flight may take on the host together; 0: as many as there are.
  std::uint64_t memory = 0;
};

// A device that does not do what its interface promises. The call failed to run, through no fault of its own.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What kernels may round to the half type of a call, but for their results.
enum class HalfRounding : std::uint8_t {
  nothing,          // they compute in float32 and round once
  between_kernels,  // what an operator that is composed of several passes from one to the next, and sums to which
                    // elements are added one by one; products are summed in float32: a framework's on an accelerator
  every_step,       // every addition, and every step of a formula: a framework's on a processor
};

// What a device may round float32 operands to.
struct OperandSettings {
  OperandRounding products = OperandRounding::none;
  OperandRounding convolutions = OperandRounding::none;
  OperandRounding recurrences = OperandRounding::none;
  bool operator==(const OperandSettings&) const = default;

  OperandRounding of(OperandSetting setting) const {
    switch (setting) {
      case OperandSetting::convolutions:
        return convolutions;
      case OperandSetting::recurrences:
        return recurrences;
      case OperandSetting::products:
        break;
    }
    return products;
  }
};

// The half types in which a product may be summed in a few parts, each of which is stored before they are added.
struct StoredParts {
  bool float16 = false;
  bool bfloat16 = false;
  bool operator==(const StoredParts&) const = default;

  bool of(DType dtype) const { return (dtype == DType::float16 && float16) || (dtype == DType::bfloat16 && bfloat16); }
};

// What a sound device may do beside computing in float32 and rounding once.
struct DeviceArithmetic {
  HalfRounding half_rounding = HalfRounding::nothing;
  OperandSettings operands = {};
  StoredParts stored_parts = {};
  // Whether these are the device's settings; else they are what frameworks have by default.
  bool settings_are_known = true;
  // Whether it is known on which device the call ran; else this is what an accelerator may do.
  bool device_is_known = true;
};

class Device {
 public:
  virtual ~Device() = default;
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Runs the forward and, where the call asks for it, the backward. Called from several threads at once. Throws
  // SkipError where the device cannot run the call, DeviceError.
  virtual DeviceResult run(const DeviceCall& call) = 0;

  virtual DeviceArithmetic arithmetic() const { return {}; }

  // Whether a thread that runs a call without using the processor only waits: it may compute in another process.
  virtual bool computes_here() const { return true; }

  // Whether a process in which it computes is stopped from outside, so that no call gets on. Asked by another thread,
  // twice a second.
  virtual bool is_stopped() const { return false; }
};

}  // namespace msrun
