#include "kernels/tensor/element_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace msrun {

std::uint64_t hash_of_bytes(const void* bytes, std::size_t size, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, size, seed);
}

}  // namespace msrun
