#include "kernels/io/files/named_output.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "kernels/base/text.h"
#include "kernels/io/files/paths.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;  // as many as the system follows

bool lies_in_proc(const fs::path& folder) {
  struct statfs info {};
  return statfs(folder.c_str(), &info) == 0 && static_cast<unsigned long>(info.f_type) == PROC_SUPER_MAGIC;
}

// /proc/self/fd/1 has become /proc/<pid>/fd/1.
std::optional<int> own_descriptor(const fs::path& name) {
  const fs::path folder = name.parent_path();
  const std::string process = folder.parent_path().filename().string();
  if (folder.filename() != "fd") return std::nullopt;
  const std::optional<int> pid = parse_number<int>(process);
  if (!pid || *pid != getpid()) return std::nullopt;
  return parse_number<int>(name.filename().string());
}

}  // namespace

std::optional<std::string> descriptor_behind(const std::string& path) {
  std::error_code error;
  fs::path at = fs::absolute(path, error);
  for (int links = 0; !error && links < most_links; ++links) {
    const fs::path folder = fs::canonical(at.parent_path(), error);
    if (error) break;
    at = folder / at.filename();
    if (!fs::is_symlink(fs::symlink_status(at, error))) break;
    // What stands in such a link is the name of what is open, or no name at all.
    if (lies_in_proc(folder) && folder.filename() == "fd") return at.string();
    const fs::path target = fs::read_symlink(at, error);
    at = target.is_absolute() ? target : folder / target;
  }
  return std::nullopt;
}

void require_file_output(const std::string& what, const std::string& path) {
  if (path.empty()) return;
  if (const std::optional<std::string> descriptor = descriptor_behind(path)) {
    throw WriteError(what + " " + path + " leads to " + *descriptor +
                     ", which a process has open: it cannot be replaced by a whole file. Name a file of its own.");
  }
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (!fs::exists(status) || fs::is_regular_file(status)) return;
  throw WriteError((what == "The file" ? "The" : what) + " " + path + " should be a file!");
}

UniqueFd open_to_append(const std::string& path) {
  const std::optional<std::string> descriptor = descriptor_behind(path);
  const std::optional<int> own = descriptor ? own_descriptor(*descriptor) : std::nullopt;
  if (own) return UniqueFd(fcntl(*own, F_DUPFD_CLOEXEC, 0));
  return UniqueFd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
}

}  // namespace msrun
