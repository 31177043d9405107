// Devices under test. A device gets a materialised call and returns outputs and gradients; it never compares.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/evaluate/evaluate.h"

namespace msrun {

// Beyond what any evaluation gives: what a device that only remembers its gradients cannot be sure of.
struct DeviceResult : Evaluation {
  // Further ways to read the gradients; the check takes the first reading that passes.
  std::vector<List> other_gradients;
  // Why no reading may be right, and a difference so proves nothing; empty if the gradients are what they claim to be.
  std::string gradient_doubt;

  DeviceResult() = default;
  DeviceResult(Evaluation evaluation) : Evaluation(std::move(evaluation)) {}  // NOLINT: it is one
};

class Device {
 public:
  virtual ~Device() = default;
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Runs the forward and, where the call asks for it, the backward. Called from several threads at once. Throws
  // SkipError where the device cannot run the call.
  virtual DeviceResult run(const Operator& op, const MaterialisedCall& call,
                           std::optional<std::size_t> only_output) = 0;
};

}  // namespace msrun
