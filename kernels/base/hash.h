// Hashes of text that are kept or compared across runs, so that they must never change.
#pragma once

#include <cstdint>
#include <string_view>

namespace msrun {

inline constexpr std::uint64_t fnv1a_start = 0xCBF29CE484222325U;

// FNV-1a with 64 bits; hash is what the bytes before gave. Its high bits depend on few of the last bytes: whoever needs
// every bit to depend on every byte spreads the result.
inline std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash = fnv1a_start) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

}  // namespace msrun
