#include "tools/common/recorded_call.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/files/paths.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

// As deep as the pre-check looks for recordings (docs/ranks.md).
constexpr int most_levels = 8;
// More than one are too many without the name of a rank.
constexpr std::size_t most_needed = 2;

bool has_dump(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "dump.json", ignored);
}

// The folders with a dump.json at and below that one, no more than are needed. What lies below one that has one belongs
// to that recording. Links are not followed: the folder of a rank may be named.
void find_recordings(const fs::path& folder, int level, std::vector<fs::path>& found) {
  if (found.size() >= most_needed) return;
  if (has_dump(folder)) {
    found.push_back(folder);
    return;
  }
  if (level >= most_levels) return;
  std::error_code error;
  std::vector<fs::path> below;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    if (entry->is_directory(unknown) && !entry->is_symlink(unknown)) below.push_back(entry->path());
  }
  if (error) {
    throw UserError("The folder " + sanitised(folder.string()) + " cannot be read: " + error.message() + ".");
  }
  std::ranges::sort(below);
  for (const fs::path& each : below) find_recordings(each, level + 1, found);
}

std::string relative_name(const fs::path& folder, const std::string& top) {
  return sanitised(folder.lexically_relative(top).string());
}

}  // namespace

RecordedCall find_recorded_call(const std::string& path, const std::string& name) {
  check_path_text(path);
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {path, {}, name};
  const std::size_t colon = name.find(':');
  if (colon != std::string::npos) {
    RecordedCall call{{}, name.substr(0, colon), name.substr(colon + 1)};
    if (!has_dump(fs::path(path) / call.rank)) {
      throw UserError("There is no recording of " + shell_quoted(sanitised(call.rank)) + " in " + sanitised(path) +
                      ": no " + sanitised(join_path(join_path(path, call.rank), "dump.json")));
    }
    call.recording = join_path(join_path(path, call.rank), "dump.json");
    return call;
  }
  std::vector<fs::path> found;
  find_recordings(path, 0, found);
  if (found.empty()) throw UserError("There is no dump.json in " + sanitised(path));
  if (found.size() > 1) {
    throw UserError("There are several recordings in " + sanitised(path) + ": say which is meant, such as " +
                    relative_name(found.front(), path) + ":" + sanitised(name));
  }
  return {join_path(found.front().string(), "dump.json"), {}, name};
}

}  // namespace msrun
