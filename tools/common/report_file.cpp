#include "tools/common/report_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>

#include "kernels/base/text.h"
#include "kernels/base/write_all.h"
#include "kernels/io/files/paths.h"

namespace msrun {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;
constexpr std::string_view temporary_suffix = ".tmp";  // that PendingFile appends

// Names of one kind and host: a process of another host cannot be asked for.
std::string temporary_prefix(const std::string& kind) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {'h', 'o', 's', 't'};
  return "." + kind + "." + host.data() + ".";
}

// Removes what killed processes have left where files cannot be without a name.
void remove_leftovers(const Folder& folder, const std::string& prefix) {
  const int descriptor = ::openat(folder.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  const auto close = [](DIR* stream) { ::closedir(stream); };
  const std::unique_ptr<DIR, decltype(close)> stream(::fdopendir(descriptor), close);
  if (!stream) {
    ::close(descriptor);
    return;
  }
  while (const dirent* entry = ::readdir(stream.get())) {
    std::string_view name = entry->d_name;
    if (!name.starts_with(prefix) || !name.ends_with(temporary_suffix)) continue;
    name.remove_prefix(prefix.size());
    name.remove_suffix(std::min(name.size(), temporary_suffix.size()));
    const std::optional<int> maker = parse_number<int>(name.substr(0, name.find('.')));
    if (!maker || *maker <= 0 || ::kill(*maker, 0) == 0 || errno != ESRCH) continue;
    ::unlinkat(folder.descriptor(), entry->d_name, 0);
  }
}

// A name that no other report of this process has.
std::string own_name(const Folder& folder, const std::string& kind) {
  static int count = 0;
  const std::string prefix = temporary_prefix(kind);
  remove_leftovers(folder, prefix);
  return prefix + std::to_string(::getpid()) + "." + std::to_string(++count);
}

}  // namespace

ReportFile::ReportFile(const std::string& directory, const std::string& kind)
    : folder_(directory), kind_(kind), temporary_(own_name(folder_, kind)), file_(folder_, temporary_) {
  if (!file_.is_open()) fail("created");
}

void ReportFile::write(std::string_view bytes) {
  buffer_ += bytes;
  if (buffer_.size() >= buffer_bytes) flush();
}

void ReportFile::flush() {
  if (!write_all(file_.descriptor(), buffer_)) fail("written");
  buffer_.clear();
}

bool ReportFile::appear(const std::string& name) {
  flush();
  if (file_.publish_as_new(name)) return true;
  if (errno != EEXIST) fail("given its name");
  return false;
}

void ReportFile::disappear(const std::string& name) { ::unlinkat(folder_.descriptor(), name.c_str(), 0); }

void ReportFile::fail(const char* action) const {
  const std::string reason = errno_text();
  throw WriteError("The file " + folder_.path_of(kind_) + "... cannot be " + action + ": " + reason);
}

}  // namespace msrun
