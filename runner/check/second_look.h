// A second run of a call whose result is an error: a fault that comes and goes is of the hardware, not of the operator.
#pragma once

#include <cstdint>

#include "runner/device/device.h"
#include "runner/results/result.h"

namespace msrun {

// No other run of a call has this number.
inline constexpr std::uint32_t run_of_second_look = std::uint32_t{1} << 31;

// Runs the call once more and says in the rows with an error whether the device's result is another one than first, or
// why that cannot be told. The verdict stands, whatever the device does.
void look_again(Device& device, const DeviceCall& call, const DeviceResult& first, ApiResult& result);

}  // namespace msrun
