#include "kernels/base/search_paths.h"

#include <algorithm>
#include <cstdlib>

namespace msrun {

std::vector<std::string> listed_folders(std::string_view list) {
  std::vector<std::string> folders;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    if (end > 0) folders.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return folders;
}

std::string without_empty_entries(std::string_view list) {
  std::string kept;
  for (const std::string& folder : listed_folders(list)) kept += (kept.empty() ? "" : ":") + folder;
  return kept;
}

void search_no_unnamed_folder() {
  for (const char* variable : {"PATH", "PYTHONPATH"}) {
    const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): there are no threads yet
    if (value == nullptr) continue;
    const std::string kept = without_empty_entries(value);
    // An empty list would stand for the current folder again.
    if (kept.empty()) {
      unsetenv(variable);  // NOLINT(concurrency-mt-unsafe)
    } else if (kept != value) {
      setenv(variable, kept.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    }
  }
}

}  // namespace msrun
