#include "orchestrator/command/page_width.h"

#include <algorithm>

namespace msrun {

std::string beside_column(std::string first, std::size_t width, std::string_view text) {
  std::string lines;
  std::string line = std::move(first);
  line.resize(std::max(line.size() + 1, width), ' ');
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
