// Numbers of things in sentences.
#pragma once

#include <cstddef>
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

// "12,345".
inline std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

// "1 call", "1,200 calls".
inline std::string counted_with_commas(std::uint64_t count, std::string_view noun) {
  return with_commas(count) + " " + plural(count, noun);
}

}  // namespace msrun
