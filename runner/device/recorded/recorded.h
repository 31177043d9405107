// The device that is not there: its outputs and gradients are what a tensor-mode dump recorded, so that a pre-check
// needs no device at all.
#pragma once

#include <memory>

#include "kernels/io/dump/recording_origin.h"
#include "runner/device/device.h"

namespace msrun {

// What the device that made a recording may do; of an unknown one what an accelerator may, because that is where
// recordings come from.
DeviceArithmetic arithmetic_of(const RecordingOrigin& origin);

// Takes calls that were materialised with their recorded results; throws SkipError for others.
std::unique_ptr<Device> make_recorded_device(const RecordingOrigin& origin);

}  // namespace msrun
