// What a test and the library failing_calls share: which call is to fail, and how many there were.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace msrun::testing {

// Kinds of calls, by the name that MSRUN_FAULT_KIND has for them.
inline constexpr std::array<std::string_view, 8> fault_kinds{"open", "close",      "read",   "fork",
                                                             "mmap", "descriptor", "thread", "allocation"};

// The contents of the file MSRUN_FAULT_STATE, mapped by every process of the program under test.
struct FaultState {
  std::array<std::atomic<std::uint64_t>, fault_kinds.size()> calls{};
  std::atomic<std::uint32_t> failed{0};  // 1 once a call was made to fail
};

}  // namespace msrun::testing
