// Whether a sanitizer watches this build. It takes memory and time of its own, keeps what is freed for a while,
// reserves addresses, and must be the first library that is loaded, so that no test can put another one in front of it.
#pragma once

#include <cstdint>
#include <string>

namespace msrun::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// Why a test that leaves a process no file descriptors says nothing there: UndefinedBehaviorSanitizer asks a pipe of
// its own whether it may read an object, and takes the object for destroyed where it cannot have one.
inline constexpr const char* sanitizer_opens_files = "a sanitizer needs file descriptors of its own";

// Freed memory that AddressSanitizer keeps at most (its quarantine), in bytes.
inline constexpr std::uint64_t sanitizer_keeps = sanitized ? std::uint64_t{256} << 20 : 0;

// For --task-timeout: seconds within which calls of small tensors end, of which a sanitizer needs more.
inline std::string time_for_a_call(int seconds) { return std::to_string(sanitized ? 5 * seconds : seconds); }

}  // namespace msrun::testing
