// The device that is not there: its outputs and gradients are what a tensor-mode dump recorded, so that a pre-check
// needs no device at all.
#pragma once

#include <memory>

#include "runner/device/device.h"

namespace msrun {

// Takes calls that were materialised with their recorded results; throws SkipError for others.
std::unique_ptr<Device> make_recorded_device();

}  // namespace msrun
