// What a process that checks calls does with memory that its tensors have freed.
#pragma once

#include <cstdint>

namespace msrun {

// Keeps it for the next tensors, up to so many bytes of large ones, and asks for huge pages there. processors: on which
// threads compute at a time. Call it once, before there are threads.
void keep_freed_memory(std::uint64_t limit, std::uint32_t processors);

}  // namespace msrun
