// How the lines of a Message begin that say what a row is worth: for those who write them, and for those who know a row
// of a CSV, or the cause of a fault, by them.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace msrun {

inline constexpr std::string_view explained_line = "Explained by ";
inline constexpr std::string_view unexplained_line = "Not explained by rounding";
inline constexpr std::string_view half_steps_line = "Rounds its ";
inline constexpr std::string_view weak_evidence_line = "Proves little";

// What may stand behind a verdict and names no cause.
inline constexpr std::string_view another_result_line = "The device's result was another";
inline constexpr std::string_view unknown_repetition_line = "Whether the result stays the same";
inline constexpr std::string_view damaged_file_line = "The bytes of the file ";

// Sentences that name the place of what is wrong.
inline constexpr std::string_view one_element = "One element of ";
inline constexpr std::string_view one_block = "One contiguous block ";
inline constexpr std::string_view wrong_is = "Wrong is ";
inline constexpr std::string_view wrong_are = "Wrong are ";
inline constexpr std::array<std::string_view, 4> place_lines{one_element, one_block, wrong_is, wrong_are};

// Where the line of a verdict stands in a Message; npos if there is none. A verdict is never the first line
// (add_verdict in details.h): what stands there may be a text of a framework.
constexpr std::size_t find_verdict(std::string_view message, std::string_view beginning) {
  for (std::size_t end = message.find('\n'); end != std::string_view::npos; end = message.find('\n', end + 1)) {
    if (message.substr(end + 1).starts_with(beginning)) return end + 1;
  }
  return std::string_view::npos;
}

}  // namespace msrun
