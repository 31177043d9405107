// The characters that well-formed UTF-8 has and XML 1.0 has not.
#pragma once

#include <string>
#include <string_view>

namespace msrun {

// The text with U+FFFD in place of U+FFFE and U+FFFF. Control characters are left to readable().
inline std::string without_noncharacters(std::string text) {
  for (const std::string_view code : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (std::size_t at = text.find(code); at != std::string::npos; at = text.find(code, at)) {
      text.replace(at, code.size(), "\xEF\xBF\xBD");
    }
  }
  return text;
}

}  // namespace msrun
