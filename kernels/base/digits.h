// Digits of ASCII, whatever the locale is.
#pragma once

namespace msrun {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace msrun
