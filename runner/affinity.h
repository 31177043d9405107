// Keeps a runner on the processors that are near its device. On a host with several NUMA nodes a device hangs on the
// PCI bus of one of them, and what passes between both is slower from any other.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace msrun {

// The processors of the node that a device of that id is on, from 0 and rising; nothing on a host with a single node,
// or where sysfs, which is /sys, does not tell. Ids count NPUs (accelerators), or where there are none GPUs, by PCI
// address, as drivers do; visible, where it is not empty, holds for each id the one that the driver was told to show
// in its place (ASCEND_RT_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES).
std::optional<std::vector<int>> processors_near(const std::filesystem::path& sysfs, int device,
                                                const std::vector<int>& visible = {});

// The ids in the first of these variables that is set: "4,5"; empty if none is. Nothing if it is set to anything else,
// such as "GPU-<uuid>": then nobody here knows which device has which id.
std::optional<std::vector<int>> visible_devices();

// The calling thread, and threads and processes that it starts from now on, run on those of the processors that they
// may use so far; on all of these if none is among them.
void stay_on(const std::vector<int>& processors);

}  // namespace msrun
