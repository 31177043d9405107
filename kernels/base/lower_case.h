// Words of ASCII without regard to capitals: names of frameworks, dtypes, folders.
#pragma once

#include <string>
#include <string_view>

namespace msrun {

// The letters A to Z as a to z, whatever the locale is; other bytes as they are.
inline std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

}  // namespace msrun
