// Small text helpers of what the programs print: clean log text, shell quoting, widths on a terminal, durations,
// numbers.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace msrun {

// Names for results, cells and messages of files: control characters, DEL and the escapes %08 %0a %0b %0c %0d %7f
// become '_' (acc_check_pytorch.md 13.1). All other bytes stay.
std::string without_controls(std::string_view text);

// Text as people are to see it: for characters that show nothing or turn the order of others around their names stand,
// ⟨U+202E⟩. Names that look alike are the same then, and a line reads as it is written.
std::string visible(std::string_view text);

// Text fit for one line that people read: visible, without controls.
std::string sanitised(std::string_view text);

// Bytes of the character at the front of text, which is not empty; 0 if they are no well-formed UTF-8 (overlong,
// surrogate, beyond U+10FFFF).
std::size_t utf8_length(std::string_view text);

// Text for a file that others read, from foreign bytes: what is not well-formed UTF-8 becomes U+FFFD, and control
// characters other than line feeds become '_'.
std::string readable(std::string text);

// Bytes that text from a recording or a file may take in a Message, a cell, a log line or an event.
inline constexpr std::size_t longest_foreign_text = 2048;

// text if it has at most longest_foreign_text bytes; else as many characters of its beginning as fit before a note of
// how many bytes it has. UTF-8 is cut between characters.
std::string bounded(std::string text);

// One word for a shell: as it is if it holds only harmless characters, else in single quotes. With control characters
// or such as are not visible it is $'...' with their bytes as octal escapes, for bash, zsh and ksh: such a word cannot
// be shown and copied otherwise.
std::string shell_quoted(std::string_view word);

// Columns that UTF-8 text takes on a terminal: two for East Asian wide characters, one for each other code point or bad
// byte.
std::size_t display_width(std::string_view text);

// The longest prefix of whole characters that fits into width columns; ends with "..." if something was cut off.
std::string cut_to_width(std::string_view text, std::size_t width);

// "0:07", "12:30", "3:05:09"; negative and NaN durations read "?".
std::string duration_text(double seconds);

// Edits (insert, delete, replace, swap of neighbours) that lead from one word to the other.
int edit_distance(std::string_view from, std::string_view to);

// Titles over one line of values, in a box, as the closing tables have them; each pair is a title and its value.
std::string boxed_table(const std::vector<std::pair<std::string, std::string>>& columns);

// What the system says of errno: "No such file or directory".
std::string errno_text();

// Four significant digits: "0.9999", "1.25e-07".
std::string short_number(double value);

// Sixteen lower-case digits.
std::string hexadecimal(std::uint64_t value);

// The number that the whole text is, in the form that std::from_chars reads; nothing if it is none or T cannot hold it.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc{} || end != last) return std::nullopt;
  return value;
}

}  // namespace msrun
