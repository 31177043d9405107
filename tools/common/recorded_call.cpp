#include "tools/common/recorded_call.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/files/entries.h"
#include "kernels/io/files/paths.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

// As deep as the pre-check looks for recordings (docs/ranks.md).
constexpr int most_levels = 8;
// More than one are too many without the name of a rank.
constexpr std::size_t most_needed = 2;
// Far more than any job has: where there are more, the folder is not one of recordings.
constexpr std::size_t most_ranks = 1'000'000;
// Of the ranks so many are named.
constexpr std::size_t most_named = 8;

bool has_dump(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "dump.json", ignored);
}

// The folders with a dump.json at and below that one, no more than `most`. What lies below one that has one belongs
// to that recording. Links are not followed: the folder of a rank may be named.
void find_recordings(const fs::path& folder, int level, std::size_t most, std::vector<fs::path>& found) {
  if (found.size() >= most) return;
  if (has_dump(folder)) {
    found.push_back(folder);
    return;
  }
  if (level >= most_levels) return;
  for (const fs::directory_entry& entry : entries_of(folder)) {
    std::error_code unknown;
    const bool is_below = entry.is_directory(unknown) && !entry.is_symlink(unknown);
    if (is_below) find_recordings(entry.path(), level + 1, most, found);
  }
}

std::string relative_name(const fs::path& folder, const std::string& top) {
  return folder.lexically_relative(top).generic_string();
}

std::vector<std::string> ranks_in(const std::string& folder) {
  std::vector<fs::path> found;
  find_recordings(folder, 0, most_ranks, found);
  std::vector<std::string> ranks;
  for (const fs::path& each : found) ranks.push_back(relative_name(each, folder));
  return ranks;
}

std::string listed(const std::vector<std::string>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), most_named); ++i) {
    text += (i == 0 ? "" : ", ") + shell_quoted(sanitised(ranks[i]));
  }
  return text + (ranks.size() > most_named ? ", ..." : "");
}

}  // namespace

std::string chosen_rank(const std::string& named, const std::vector<std::string>& ranks, const std::string& where) {
  if (std::ranges::find(ranks, named) != ranks.end()) return named;
  const std::string wanted = "/" + named + "/";
  std::vector<std::string> meant;
  for (const std::string& rank : ranks) {
    if (("/" + rank + "/").find(wanted) != std::string::npos) meant.push_back(rank);
  }
  if (meant.size() == 1) return meant.front();
  const std::string name = shell_quoted(sanitised(named));
  if (!meant.empty()) {
    throw UserError(name + " is the name of several ranks in " + sanitised(where) + ": say which is meant, " +
                    listed(meant) + ".");
  }
  throw UserError("There is no recording of " + name + " in " + sanitised(where) +
                  (ranks.empty() ? ", nor of any other rank." : "; the ranks are " + listed(ranks) + "."));
}

RecordedCall find_recorded_call(const std::string& path, const std::string& name) {
  check_path_text(path);
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {path, {}, name};
  const std::size_t colon = name.find(':');
  if (colon != std::string::npos) {
    RecordedCall call{{}, name.substr(0, colon), name.substr(colon + 1)};
    if (!has_dump(fs::path(path) / call.rank)) call.rank = chosen_rank(call.rank, ranks_in(path), path);
    call.recording = join_path(join_path(path, call.rank), "dump.json");
    return call;
  }
  std::vector<fs::path> found;
  find_recordings(path, 0, most_needed, found);
  if (found.empty()) throw UserError("There is no dump.json in " + sanitised(path));
  if (found.size() > 1) {
    throw UserError("There are several recordings in " + sanitised(path) + ": say which is meant, such as " +
                    sanitised(relative_name(found.front(), path)) + ":" + sanitised(name));
  }
  return {join_path(found.front().string(), "dump.json"), {}, name};
}

}  // namespace msrun
