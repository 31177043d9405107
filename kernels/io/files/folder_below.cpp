#include "kernels/io/files/folder_below.h"

#include <algorithm>
#include <string>

namespace msrun {

Folder folder_below(const Folder& folder, std::string_view path) {
  Folder result = folder;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) result = result.subfolder(std::string(path.substr(0, end)));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return result;
}

}  // namespace msrun
