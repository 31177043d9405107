#include "tools/common/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/base/write_all.h"
#include "kernels/io/files/file.h"
#include "kernels/io/files/folder.h"
#include "kernels/io/files/named_output.h"
#include "kernels/io/files/paths.h"

namespace msrun {
namespace {

constexpr mode_t permissions = 0777;
constexpr mode_t permissions_and_set_ids = 07777;

[[noreturn]] void fail(const std::string& path, const char* action) {
  const std::string reason = errno_text();
  throw WriteError("The file " + path + " cannot be " + action + ": " + reason);
}

// Gives the open file the owner, the group and the mode. Only the mode is a must: not everybody may give files away,
// and a file that is not given away must not let others act in its owner's name.
bool take_owner_and_mode(int descriptor, const struct stat& status) {
  constexpr auto same_owner = static_cast<uid_t>(-1);
  const bool has_both = fchown(descriptor, status.st_uid, status.st_gid) == 0;
  // Without the right to give files away the group alone may still be kept; if not, the mode has to do.
  if (!has_both) std::ignore = fchown(descriptor, same_owner, status.st_gid);
  return fchmod(descriptor, status.st_mode & (has_both ? permissions_and_set_ids : permissions)) == 0;
}

}  // namespace

std::string read_whole_file(const std::string& path, std::uint64_t limit) {
  try {
    InputFile file(path, limit);
    std::string bytes(file.size(), '\0');
    std::size_t size = 0;
    while (size < bytes.size()) {
      const std::size_t count = file.read({bytes.data() + size, bytes.size() - size});
      if (count == 0) break;  // it has become shorter meanwhile
      size += count;
    }
    bytes.resize(size);
    return bytes;
  } catch (const FileError& error) {
    throw UserError(error.what());
  }
}

bool is_read_only(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return false;
  constexpr mode_t anybody_writes = 0222;
  return (status.st_mode & anybody_writes) == 0 || access(path.c_str(), W_OK) != 0;
}

void replace_whole_file(const std::string& path, std::string_view bytes) {
  require_file_output("The file", path);
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  if (error) throw WriteError("The file " + path + " cannot be replaced: " + error.message());
  const std::optional<Folder> folder = Folder::open(target.parent_path().string());
  if (!folder) fail(path, "replaced");
  const std::string name = target.filename().string();
  struct stat status {};
  if (fstatat(folder->descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) fail(path, "replaced");
  if (!S_ISREG(status.st_mode)) throw WriteError("The " + path + " should be a file!");
  PendingFile file(*folder, name);
  if (!file.is_open()) fail(path, "created");
  // Before the first byte is there: where the file has a name meanwhile, nobody else may read it.
  if (!take_owner_and_mode(file.descriptor(), status)) fail(path, "given its mode");
  if (!write_all(file.descriptor(), bytes)) fail(path, "written");
  if (!file.publish()) fail(path, "replaced");
}

}  // namespace msrun
