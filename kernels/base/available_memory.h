// How much memory this process and its children may still take: what the host has left, and what every control group
// above the process leaves. A container has the memory of its group, and /proc/meminfo shows that of the host.
#pragma once

#include <cstdint>
#include <filesystem>

namespace msrun {

// Bytes, from root/proc and from the mounts named there. Of a group that is the smaller of its limits less what is in
// use without the file cache that gives way. Groups of version 1 and 2 count, at every level that is mounted; what
// cannot be read sets no limit. 4 GiB if the host does not tell.
std::uint64_t available_memory(const std::filesystem::path& root = "/");

inline constexpr double usual_share_of_memory = 0.8;

// That share of the available memory, 0 < share <= 1, and at least 64 MiB: a group may be full for the moment, and most
// work takes less than this.
std::uint64_t memory_share(double share);

}  // namespace msrun
