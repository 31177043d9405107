#include "tools/torchair_convert/tree_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "kernels/base/text.h"

namespace msrun::convert {
namespace {

constexpr const char* lock_name = ".msprobe_convert.lock";

}  // namespace

TreeLock::TreeLock(const Directory& root) : root_(root) {
  for (;;) {
    descriptor_.reset(::openat(root.descriptor(), lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!descriptor_) {
      throw UserError(root.path() + " cannot be written to: " + errno_text() + ".");
    }
    if (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      if (error == EWOULDBLOCK) throw UserError("Another converter is already working on " + root.path() + ".");
      throw UserError(root.path() + " cannot be locked: " + std::generic_category().message(error) + ".");
    }
    // The process that had the lock before may have removed the file since it was opened here.
    struct stat locked {};
    struct stat named {};
    const bool same = ::fstat(descriptor_.get(), &locked) == 0 &&
                      ::fstatat(root.descriptor(), lock_name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                      locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
    if (same) return;
  }
}

TreeLock::~TreeLock() { ::unlinkat(root_.descriptor(), lock_name, 0); }

}  // namespace msrun::convert
