#include "kernels/base/available_memory.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/text.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

// The names of a version's files.
struct GroupFiles {
  const char* filesystem;
  std::array<const char*, 2> limits;  // null: there is no second one
  const char* usage;
  const char* reclaimable;  // key in memory.stat
};
constexpr GroupFiles version_1{
    "cgroup", {"memory.limit_in_bytes", nullptr}, "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles version_2{"cgroup2", {"memory.max", "memory.high"}, "memory.current", "inactive_file"};

// The number that stands behind key, or, with an empty key, at the start of the file. Nothing for "max".
std::optional<std::uint64_t> number_in(const fs::path& path, std::string_view key = {}) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (!key.empty()) {
      if (word != key) continue;
      words >> word;
    }
    return parse_number<std::uint64_t>(word);
  }
  return std::nullopt;
}

std::uint64_t left_in_group(const fs::path& group, const GroupFiles& files) {
  std::uint64_t limit = unlimited;
  for (const char* name : files.limits) {
    if (name != nullptr) limit = std::min(limit, number_in(group / name).value_or(unlimited));
  }
  if (limit == unlimited) return unlimited;
  const std::uint64_t used = number_in(group / files.usage).value_or(0);
  const std::uint64_t cache = number_in(group / "memory.stat", files.reclaimable).value_or(0);
  const std::uint64_t bound = used - std::min(used, cache);
  return limit - std::min(limit, bound);
}

// A mount of /proc/self/mountinfo: the directory `source` of its file system is seen at `target`.
struct Mount {
  fs::path source;
  fs::path target;
  std::string filesystem;
  std::string options;
};

std::vector<Mount> mounts(const fs::path& root) {
  std::vector<Mount> result;
  std::ifstream file(root / "proc/self/mountinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    std::istringstream front(line);
    std::istringstream back(line.substr(separator + 3));
    std::string skipped;
    std::string source;
    std::string target;
    Mount mount;
    front >> skipped >> skipped >> skipped >> source >> target;
    back >> mount.filesystem >> skipped >> mount.options;
    mount.source = source;
    mount.target = target;
    result.push_back(std::move(mount));
  }
  return result;
}

bool has_word(const std::string& list, std::string_view word) {
  std::istringstream words(list);
  for (std::string found; std::getline(words, found, ',');) {
    if (found == word) return true;
  }
  return false;
}

// From the group up to the root of its mount.
std::uint64_t left_in_groups(const fs::path& root, const Mount& mount, const fs::path& group, const GroupFiles& files) {
  // A container may see its own group as the root, under another path than its processes have.
  fs::path inside = group.lexically_relative(mount.source);
  if (inside.empty() || *inside.begin() == "..") inside = ".";
  const fs::path top = root / mount.target.relative_path();
  std::uint64_t left = left_in_group(top, files);
  fs::path level = top;
  for (const fs::path& part : inside) {
    if (part == ".") continue;
    level /= part;
    left = std::min(left, left_in_group(level, files));
  }
  return left;
}

std::uint64_t left_by_groups(const fs::path& root) {
  std::uint64_t left = unlimited;
  const std::vector<Mount> mounted = mounts(root);
  std::ifstream file(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    // hierarchy:controllers:path
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && !has_word(controllers, "memory")) continue;
    const GroupFiles& files = unified ? version_2 : version_1;
    for (const Mount& mount : mounted) {
      if (mount.filesystem != files.filesystem || (!unified && !has_word(mount.options, "memory"))) continue;
      left = std::min(left, left_in_groups(root, mount, line.substr(second + 1), files));
    }
  }
  return left;
}

}  // namespace

std::uint64_t available_memory(const fs::path& root) {
  const std::optional<std::uint64_t> kibibytes = number_in(root / "proc/meminfo", "MemAvailable:");
  const std::uint64_t host = kibibytes ? *kibibytes * 1024 : std::uint64_t{4} << 30;
  return std::min(host, left_by_groups(root));
}

std::uint64_t memory_share(double share) {
  constexpr std::uint64_t least = std::uint64_t{64} << 20;
  return std::max(least, static_cast<std::uint64_t>(static_cast<double>(available_memory()) * share));
}

}  // namespace msrun
