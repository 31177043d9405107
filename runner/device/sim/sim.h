// The simulated NPU: msrun's operators in the device's arithmetic (storage in the API's dtype, float32 accumulation),
// with fault models to see that detection works (faults.h).
#pragma once

#include <memory>
#include <vector>

#include "runner/device/device.h"
#include "runner/device/sim/faults.h"

namespace msrun {

std::unique_ptr<Device> make_sim_device(std::vector<SimFault> faults);

}  // namespace msrun
