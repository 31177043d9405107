#include "tools/graph/stamp_claim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "kernels/io/files/paths.h"

namespace msrun::graph {

bool StampClaim::take(const Folder& folder, const std::string& kind, const std::string& stamp) {
  release();
  folder_ = folder;
  name_ = "." + kind + "_" + stamp + ".msrun.claim";
  if (make()) return true;
  if (errno != EEXIST) throw_errno_as_write_error("The file " + folder.path_of(name_) + " cannot be created: ");
  return remove_abandoned() && make();
}

bool StampClaim::make() {
  file_.reset(openat(folder_->descriptor(), name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_) return false;
  // Before it is locked, another may take it for abandoned. Where there are no locks nobody can.
  const bool is_locked = flock(file_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  struct stat status {};
  if (is_locked && fstat(file_.get(), &status) == 0 && status.st_nlink > 0) return true;
  file_.reset();
  errno = EEXIST;
  return false;
}

bool StampClaim::remove_abandoned() const {
  const UniqueFd other(openat(folder_->descriptor(), name_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!other) return errno == ENOENT;
  struct stat status {};
  if (fstat(other.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return flock(other.get(), LOCK_EX | LOCK_NB) == 0 && unlinkat(folder_->descriptor(), name_.c_str(), 0) == 0;
}

void StampClaim::release() {
  if (file_) unlinkat(folder_->descriptor(), name_.c_str(), 0);
  file_.reset();
}

}  // namespace msrun::graph
