// What a device gave for a call, as numbers: whose checksums agree, the bits agree.
#pragma once

#include "runner/device/device.h"
#include "runner/results/result.h"

namespace msrun {

// What is compared of a call's outputs: all of them, or the one that OperatorTraits::compared_output names.
Value compared_output(const Value& output, const OperatorTraits& traits);

// The checksums of every leaf of the compared output and of every gradient: XXH3, 64 bits, over dtype, shape and bytes
// (logical order) of a tensor, and over kind and value of anything else. Bits are bits: NaNs and zeros of another sign
// count as they are stored.
Checksums checksums_of(const DeviceResult& result, const OperatorTraits& traits);

}  // namespace msrun
