#include "kernels/io/files/temporary_name.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>

#include "kernels/base/host_name.h"
#include "kernels/base/text.h"

namespace msrun {
namespace {

// ".host."
std::string host_part() {
  const std::string host = system_host_name();
  return "." + (host.empty() ? "host" : host) + ".";
}

std::string temporary_prefix(const std::string& kind) { return "." + kind + host_part(); }

void remove_leftovers(const Folder& folder, const std::string& prefix) {
  const int descriptor = ::openat(folder.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  const auto close = [](DIR* stream) { ::closedir(stream); };
  const std::unique_ptr<DIR, decltype(close)> stream(::fdopendir(descriptor), close);
  if (!stream) {
    ::close(descriptor);
    return;
  }
  const std::string_view suffix(temporary_suffix);
  while (const dirent* entry = ::readdir(stream.get())) {
    std::string_view name = entry->d_name;
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) continue;
    name.remove_prefix(prefix.size());
    name.remove_suffix(std::min(name.size(), suffix.size()));
    const std::optional<int> maker = parse_number<int>(name.substr(0, name.find('.')));
    if (!maker || *maker <= 0 || ::kill(*maker, 0) == 0 || errno != ESRCH) continue;
    ::unlinkat(folder.descriptor(), entry->d_name, 0);
  }
}

}  // namespace

std::string temporary_name(const Folder& folder, const std::string& kind) {
  static std::atomic<int> count = 0;
  const std::string prefix = temporary_prefix(kind);
  remove_leftovers(folder, prefix);
  // What has such a name already is left over: in a container the number of a process comes again.
  std::string name;
  struct stat status {};
  do {
    name = prefix + std::to_string(::getpid()) + "." + std::to_string(++count);
  } while (::fstatat(folder.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0);
  return name;
}

bool is_temporary_name(std::string_view name) {
  return name.starts_with('.') && name.find(host_part() + std::to_string(::getpid()) + ".") != std::string_view::npos;
}

}  // namespace msrun
