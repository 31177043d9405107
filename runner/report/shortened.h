// Texts that are cut, for a page that must not grow without bound.
#pragma once

#include <cstddef>
#include <string>

namespace msrun::report {

// text if it has at most that many bytes; else whole characters of its beginning, and a sign that there is more.
inline std::string shortened(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  return text + " ...";
}

}  // namespace msrun::report
