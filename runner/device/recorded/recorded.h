// The device that is not there: its outputs and gradients are what a tensor-mode dump recorded, so that a pre-check
// needs no device at all.
#pragma once

#include <memory>

#include "runner/device/device.h"

namespace msrun {

// One tensor argument of a call, in the order of DeviceResult::gradients.
struct GradientSlot {
  Dims shape;
  bool wanted = false;  // a gradient is computed for it
  bool positional = true;
};

// A way to give recorded gradients to arguments: one value per slot, a Tensor, None, or Unsupported with the reason why
// there is nothing to compare.
struct GradientPairing {
  std::vector<List> readings;  // at least one; the likeliest first
  std::string doubt;           // as DeviceResult::gradient_doubt
};

// The dumper hooks autograd nodes, so that recorded gradients need not be in the order of the arguments, nor those of
// the call as a whole (decision 20): by position where the shapes agree, else by the only argument of the same shape.
// kind is what is known of the gradients of that operator; api is the bare name in sentences, "linear".
GradientPairing pair_gradients(RecordedGradients kind, std::string_view api, const List& recorded,
                               const std::vector<GradientSlot>& slots);

// Takes calls that were materialised with their recorded results; throws SkipError for others.
std::unique_ptr<Device> make_recorded_device();

}  // namespace msrun
