// Digits and letters of ASCII, whatever the locale is.
#pragma once

#include <algorithm>
#include <string_view>

namespace msrun {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }

// Whether a name is the prefix and a number, as "rank7" is of "rank".
constexpr bool is_numbered(std::string_view name, std::string_view prefix) {
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         std::all_of(name.begin() + prefix.size(), name.end(), is_digit);
}

}  // namespace msrun
