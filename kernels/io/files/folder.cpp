#include "kernels/io/files/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "kernels/base/hash.h"
#include "kernels/base/text.h"
#include "kernels/io/files/paths.h"
#include "kernels/io/files/temporary_name.h"

namespace msrun {
namespace {

std::string descriptor_path(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

int open_folder(int parent, const std::string& name, int more_flags) {
  return openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | more_flags);
}

bool is_at(const Folder& folder, const std::string& name, int descriptor) {
  struct stat open {};
  struct stat there {};
  return fstat(descriptor, &open) == 0 &&
         fstatat(folder.descriptor(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 && open.st_dev == there.st_dev &&
         open.st_ino == there.st_ino;
}

bool lock(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

// No file of a user has such a name. One of ours that is unique already is only marked as temporary.
std::string temporary_of(const std::string& name, unsigned number) {
  const std::string tail = (number == 0 ? "" : "." + std::to_string(number)) + temporary_suffix;
  if (is_temporary_name(name)) return name + tail;
  constexpr std::size_t longest = 200;  // file systems allow 255 bytes
  const bool fits = name.size() <= longest;
  return "." + (fits ? name : name.substr(0, longest / 2) + "-" + hexadecimal(fnv1a(name))) + ".msrun" + tail;
}

// Whether the name is free, or has become so: nobody holds the lock of a file whose writer was killed, and who holds it
// here is the only one who may remove the file.
bool is_free(const Folder& folder, const std::string& name) {
  const UniqueFd left(
      openat(folder.descriptor(), name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!left) return errno == ENOENT;
  struct stat status {};
  if (fstat(left.get(), &status) != 0 || !S_ISREG(status.st_mode) || !lock(left.get())) return false;
  return !is_at(folder, name, left.get()) || unlinkat(folder.descriptor(), name.c_str(), 0) == 0;
}

// Calls make with temporary names of that name until one could be taken, and returns it; empty with errno if that is
// not so.
template <class Make>
std::string taken_name(const Folder& folder, const std::string& name, const Make& make) {
  constexpr int most_attempts = 1000;
  unsigned number = 0;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    std::string temporary = temporary_of(name, number);
    if (make(temporary)) return temporary;
    if (errno != EEXIST) return {};
    if (!is_free(folder, temporary)) ++number;
  }
  errno = EEXIST;
  return {};
}

// Those of file systems that have no files without a name, and of kernels before there were any.
bool means_unsupported(int code) {
  return code == EOPNOTSUPP || code == EISDIR || code == EINVAL || code == ENOENT || code == ENOSYS;
}

}  // namespace

Folder::Folder(const std::string& path) : path_(path.empty() ? "." : path) {
  UniqueFd descriptor(open_folder(AT_FDCWD, path_, 0));
  if (!descriptor) throw_errno_as_write_error("The directory " + sanitised(path_) + " cannot be opened: ");
  descriptor_ = std::make_shared<const UniqueFd>(std::move(descriptor));
}

std::optional<Folder> Folder::open(const std::string& path) {
  const std::string place = path.empty() ? "." : path;
  UniqueFd descriptor(open_folder(AT_FDCWD, place, 0));
  if (!descriptor) return std::nullopt;
  return Folder(place, std::move(descriptor));
}

Folder::Folder(std::string path, UniqueFd descriptor)
    : path_(std::move(path)), descriptor_(std::make_shared<const UniqueFd>(std::move(descriptor))) {}

std::string Folder::path_of(std::string_view name) const { return join_path(path_, name); }

Folder Folder::subfolder(const std::string& name) const {
  const std::string path = path_of(name);
  if (mkdirat(descriptor(), name.c_str(), 0777) != 0 && errno != EEXIST) {
    throw_errno_as_write_error("The output directory " + path + " cannot be created: ");
  }
  UniqueFd inner(open_folder(descriptor(), name, O_NOFOLLOW));
  if (inner) return {path, std::move(inner)};
  const int code = errno;
  struct stat status {};
  if (fstatat(descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(status.st_mode)) {
    throw WriteError("The " + path + " should be a directory" +
                     (S_ISLNK(status.st_mode) ? ", not a symbolic link!" : "!"));
  }
  throw WriteError("The directory " + path + " cannot be opened: " + std::system_category().message(code));
}

bool Folder::make_new(const std::string& name) const {
  if (mkdirat(descriptor(), name.c_str(), 0777) == 0) return true;
  if (errno == EEXIST) return false;
  throw_errno_as_write_error("The output directory " + path_of(name) + " cannot be created: ");
}

bool Folder::is_at_its_path() const {
  struct stat held {};
  struct stat there {};
  return fstat(descriptor(), &held) == 0 && stat(path_.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
         held.st_ino == there.st_ino;
}

PendingFile::PendingFile(const Folder& folder, std::string name) : folder_(folder), name_(std::move(name)) {
  // More than two rarely write one name at a time.
  for (unsigned number = 0; number < 2; ++number) is_free(folder_, temporary_of(name_, number));
  descriptor_.reset(openat(folder_.descriptor(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
  // Only through /proc does an open file get a name.
  if (descriptor_ && access(descriptor_path(descriptor_.get()).c_str(), F_OK) == 0) return;
  if (!descriptor_ && !means_unsupported(errno)) return;
  descriptor_.reset();
  has_name_ = create_locked();
}

PendingFile::~PendingFile() { abandon(); }

bool PendingFile::link_to(const std::string& name) const {
  return linkat(AT_FDCWD, descriptor_path(descriptor_.get()).c_str(), folder_.descriptor(), name.c_str(),
                AT_SYMLINK_FOLLOW) == 0;
}

bool PendingFile::create_locked() {
  temporary_ = taken_name(folder_, name_, [&](const std::string& temporary) {
    descriptor_.reset(
        openat(folder_.descriptor(), temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!descriptor_) return false;
    // Before the lock is there, another may take the file for one that was left. Where there are no locks nobody does.
    const bool is_ours = lock(descriptor_.get()) || errno != EWOULDBLOCK;
    if (is_ours && is_at(folder_, temporary, descriptor_.get())) return true;
    descriptor_.reset();
    errno = EEXIST;
    return false;
  });
  return is_open();
}

bool PendingFile::link_locked() {
  lock(descriptor_.get());
  temporary_ = taken_name(folder_, name_, [&](const std::string& temporary) { return link_to(temporary); });
  return !temporary_.empty();
}

bool PendingFile::replace() {
  if (!has_name_) {
    if (link_to(name_)) return true;
    if (errno != EEXIST) return false;
    has_name_ = link_locked();
    if (!has_name_) return false;
  }
  if (renameat(folder_.descriptor(), temporary_.c_str(), folder_.descriptor(), name_.c_str()) != 0) return false;
  has_name_ = false;
  return true;
}

// Some file systems report only at a close that a write has failed; to be given a name the file must stay open.
bool PendingFile::is_written() const {
  const int copy = fcntl(descriptor_.get(), F_DUPFD_CLOEXEC, 0);
  return copy >= 0 && close(copy) == 0;
}

bool PendingFile::publish() {
  const bool published = is_written() && replace();
  abandon();
  return published;
}

bool PendingFile::publish_as_new(const std::string& name) {
  if (!is_written()) return false;
  if (link_to(name)) return true;
  if (errno == EEXIST || !has_name_) return false;
  // Without links the name is taken first, by an empty file that this one then replaces.
  const UniqueFd taken(
      openat(folder_.descriptor(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!taken) return false;
  if (renameat(folder_.descriptor(), temporary_.c_str(), folder_.descriptor(), name.c_str()) == 0) {
    has_name_ = false;
    return true;
  }
  const int code = errno;
  unlinkat(folder_.descriptor(), name.c_str(), 0);
  errno = code;
  return false;
}

void PendingFile::abandon() {
  const int code = errno;
  descriptor_.reset();
  if (has_name_) unlinkat(folder_.descriptor(), temporary_.c_str(), 0);
  has_name_ = false;
  errno = code;
}

}  // namespace msrun
