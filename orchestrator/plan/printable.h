// Names from a dump as messages and tables show them.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "kernels/base/text.h"

namespace msrun {

// Control characters and DEL become '_'; every other byte stays, of names that are longer than foreign text may be
// those at the beginning.
inline std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text) result += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '_' : c;
  return bounded(std::move(result));
}

}  // namespace msrun
