#include "orchestrator/command/page_width.h"

#include <algorithm>
#include <utility>

namespace msrun {

std::string padded_to(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

std::string beside_column(std::string first, std::size_t width, std::string_view text) {
  std::string lines;
  std::string line = padded_to(std::move(first), width);
  bool fresh = true;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    if (!fresh && line.size() + 1 + space > page_width) {
      lines += line + "\n";
      line.assign(width, ' ');
      fresh = true;
    }
    line += (fresh ? "" : " ") + std::string(text.substr(0, space));
    fresh = false;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return lines + line + "\n";
}

}  // namespace msrun
