// How a fuzz target is written down: for libFuzzer, which makes a program of each, or for the one program that shows
// all of them the inputs that are known (replay.cpp).
//
//   FUZZ_TARGET(csv_fuzz) { ... data, size ...; return 0; }
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string_view>

namespace msrun {

using FuzzTarget = int (*)(const std::uint8_t* data, std::size_t size);

// Those of the replaying program by their names.
std::map<std::string_view, FuzzTarget>& fuzz_targets();

// What a target says of an input: that it holds, or the process ends, which is what a fuzzer waits for.
inline void fuzz_require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace msrun

#ifdef MSRUN_FUZZ_REPLAY
#define FUZZ_TARGET(name)                                                                                    \
  static int name(const std::uint8_t* data, std::size_t size);                                               \
  [[maybe_unused]] static const bool name##_is_known = msrun::fuzz_targets().emplace(#name, &(name)).second; \
  static int name(const std::uint8_t* data, std::size_t size)
#else
#define FUZZ_TARGET(name) extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
#endif
