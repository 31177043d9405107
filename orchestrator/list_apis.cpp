#include "orchestrator/list_apis.h"

#include <map>
#include <set>

#include "kernels/api/operators.h"

namespace msrun {

std::string list_apis_text() {
  std::string text;
  std::map<std::string, int> counts;
  std::set<std::string> canonical;
  for (const ApiListing& entry : list_apis()) {
    std::string line = entry.type + "." + entry.api;
    line.resize(std::max<std::size_t>(line.size() + 2, 48), ' ');
    text += line + entry.canonical + "\n";
    ++counts[entry.type];
    canonical.insert(entry.canonical);
  }
  text += "\n" + std::to_string(canonical.size()) + " operators under";
  const char* separator = " ";
  for (const auto& [type, count] : counts) {
    text += separator + std::to_string(count) + " " + type;
    separator = ", ";
  }
  return text + " names.\n";
}

}  // namespace msrun
