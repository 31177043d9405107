#include "tools/run_bisect/versions.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "tools/shrink/process.h"

namespace msrun::run_bisect {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_versions = 1'000'000;
constexpr std::size_t longest_version = 1000;  // bytes

std::vector<std::string> lines_of(std::istream& text, char separator) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line, separator);) {
    const std::size_t first = line.find_first_not_of(" \t\r\n");
    if (first == std::string::npos || line[first] == '#') continue;
    lines.push_back(line.substr(first, line.find_last_not_of(" \t\r\n") + 1 - first));
  }
  return lines;
}

// Removed with all that is in it, however its use ends.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    path_ = (fs::temp_directory_path(error) / "msrun_bisect_XXXXXX").string();
    if (error) throw UserError("There is no folder for temporary files (TMPDIR): " + error.message() + ".");
    if (mkdtemp(path_.data()) == nullptr) {
      throw UserError("The folder " + sanitised(path_) + " cannot be made: " + errno_text() + ".");
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// git's list of commits, oldest first; nothing if git does not know the ends.
std::optional<std::vector<std::string>> commits_between(const std::string& good, const std::string& bad) {
  if (good.starts_with('-') || bad.starts_with('-')) return std::nullopt;
  const TemporaryFolder folder;
  const std::string list = folder.path() + "/commits";
  const std::string range = shell_quoted(good + ".." + bad);
  const int code = shrink::run_program(
      {"/bin/sh", "-c", "git rev-list --reverse --first-parent " + range + " -- 2>/dev/null"}, list, std::nullopt);
  std::ifstream file(list);
  std::vector<std::string> commits = lines_of(file, '\n');
  if (code != 0 || commits.empty()) return std::nullopt;
  return commits;
}

// What begins as only a path does, or names a file by its ending: a version of that name would be tried for nothing.
// Branches have slashes within, and several versions commas between them.
bool is_path_of_nothing(const std::string& text) {
  if (text.find(',') != std::string::npos) return false;
  const bool begins = text.starts_with('/') || text.starts_with("./") || text.starts_with("../");
  return begins || text.ends_with(".txt");
}

}  // namespace

std::vector<std::string> listed_versions(const std::string& file_or_list) {
  std::vector<std::string> versions;
  std::error_code ignored;
  if (fs::is_regular_file(file_or_list, ignored)) {
    std::ifstream file(file_or_list);
    if (!file) throw UserError("The file of versions " + sanitised(file_or_list) + " cannot be read.");
    versions = lines_of(file, '\n');
  } else if (fs::exists(file_or_list, ignored)) {
    throw UserError("--versions: " + shell_quoted(sanitised(file_or_list)) + " is no regular file");
  } else if (is_path_of_nothing(file_or_list)) {
    throw UserError("--versions: there is no file " + shell_quoted(sanitised(file_or_list)));
  } else {
    std::istringstream list(file_or_list);
    versions = lines_of(list, ',');
  }
  if (versions.empty()) throw UserError("--versions: there is no version in " + shell_quoted(sanitised(file_or_list)));
  std::set<std::string> seen;
  for (const std::string& version : versions) {
    if (version.size() > longest_version) {
      throw UserError("--versions: " + bounded(sanitised(version)) + " has " + std::to_string(version.size()) +
                      " bytes, and a version at most " + std::to_string(longest_version));
    }
    if (!seen.insert(version).second) throw UserError("--versions: " + sanitised(version) + " is there twice");
  }
  return versions;
}

std::vector<std::string> versions_between(const std::string& good, const std::string& bad) {
  const auto first = parse_number<std::uint64_t>(good);
  const auto last = parse_number<std::uint64_t>(bad);
  if (first && last) {
    if (*last <= *first) throw UserError("--good " + good + " must be before --bad " + bad);
    if (*last - *first > most_versions) throw UserError("these are too many versions; give them with --versions");
    std::vector<std::string> versions;
    for (std::uint64_t version = *first + 1; version <= *last; ++version) versions.push_back(std::to_string(version));
    return versions;
  }
  if (std::optional<std::vector<std::string>> commits = commits_between(good, bad)) {
    commits->back() = bad;
    return *std::move(commits);
  }
  throw UserError("the versions from " + shell_quoted(sanitised(good)) + " to " + shell_quoted(sanitised(bad)) +
                  " are neither whole numbers nor commits of the git repository here: give them with --versions");
}

std::vector<std::string> versions_within(const std::vector<std::string>& listed, const std::string& good,
                                         const std::string& bad) {
  const auto begin = std::ranges::find(listed, good);
  const auto end = std::ranges::find(listed, bad);
  const auto first = begin == listed.end() ? listed.begin() : begin + 1;
  const auto last = end == listed.end() ? listed.end() : end + 1;
  if (first >= last) throw UserError("--versions: --good must be before --bad, from old to new");
  return {first, last};
}

}  // namespace msrun::run_bisect
