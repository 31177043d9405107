// Numbers of things in sentences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace msrun {

// The noun as it stands behind the number: "call" of one, "calls" of any other.
inline std::string plural(std::uint64_t count, std::string_view noun) {
  return std::string(noun) + (count == 1 ? "" : "s");
}

// "1 call", "12 calls".
inline std::string counted(std::uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + plural(count, noun);
}

}  // namespace msrun
