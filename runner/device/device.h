// Devices under test. A device gets a materialised call and returns outputs and gradients; it never compares.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/evaluate.h"

namespace msrun {

class Device {
 public:
  virtual ~Device() = default;
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Runs the forward and, where the call asks for it, the backward. Called from several threads at once. Throws
  // SkipError where the device cannot run the call.
  virtual Evaluation run(const Operator& op, const MaterialisedCall& call, std::optional<std::size_t> only_output) = 0;
};

}  // namespace msrun
