// The simulated NPU: msrun's operators in the device's arithmetic (storage in the API's dtype, float32 accumulation),
// with fault models to see that detection works (faults.h).
#pragma once

#include <memory>
#include <vector>

#include "runner/device/device.h"
#include "runner/device/sim/faults.h"

namespace msrun {

// seed: of the faults that come by chance; where and when they come also depends on the name of the call and the number
// of its run.
std::unique_ptr<Device> make_sim_device(std::vector<SimFault> faults, std::int32_t device_id = 0,
                                        std::uint64_t seed = 0);

}  // namespace msrun
