// Digits and letters of ASCII, whatever the locale is.
#pragma once

namespace msrun {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }

}  // namespace msrun
