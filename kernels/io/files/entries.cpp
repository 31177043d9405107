#include "kernels/io/files/entries.h"

#include <algorithm>

#include "kernels/base/error.h"
#include "kernels/base/text.h"

namespace msrun {

namespace fs = std::filesystem;

std::vector<fs::directory_entry> entries_of(const fs::path& folder, std::error_code& error) {
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    entries.push_back(*entry);
  }
  std::ranges::sort(entries, {}, [](const fs::directory_entry& entry) -> const fs::path::string_type& {
    return entry.path().native();
  });
  return entries;
}

std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> entries = entries_of(folder, error);
  if (error) {
    throw UserError("The directory " + sanitised(folder.string()) + " cannot be read: " + error.message() + ".");
  }
  return entries;
}

}  // namespace msrun
