// Checksums of the bytes of tensors, computed with the instructions of the processor that runs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace msrun {

// XXH3, 64 bits. It is kept in journals and compared across machines: the value depends on bytes and seed alone.
std::uint64_t hash_of_bytes(const void* bytes, std::size_t size, std::uint64_t seed);

}  // namespace msrun
