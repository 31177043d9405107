// Loaded into a tool with LD_PRELOAD: the world around it at its worst, at an instant that a test chooses.
//
// MSRUN_HOSTILE_DIR names a directory; files that are made, written, synced, renamed, linked and removed in it are
// counted. MSRUN_HOSTILE_AT is the operation (1 is the first) before which something happens:
//   MSRUN_HOSTILE_KILL is set: the process is killed;
//   MSRUN_HOSTILE_FROM and MSRUN_HOSTILE_TO are set: the one file is renamed to the other.
// MSRUN_HOSTILE_OLD: the file system has no files without a name and no renaming that replaces nothing, for want of
// which it fails with ENOSYS if that is the number, else EINVAL. MSRUN_HOSTILE_SCARCE: so many times a file in the
// directory is opened, from the MSRUN_HOSTILE_AT'th on, the system has none left (ENFILE).
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/preload.h"

namespace {

std::atomic<long> operations{0};
std::atomic<long> opens{0};

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

long number(const char* name) { return std::strtol(setting(name), nullptr, 10); }

bool is_hostile(int directory) {
  const char* wanted = setting("MSRUN_HOSTILE_DIR");
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0 || *wanted == '\0') return false;
  path[length] = '\0';
  return std::strncmp(path, wanted, std::strlen(wanted)) == 0;
}

void count(int directory) {
  const int error = errno;
  if (is_hostile(directory) && ++operations == number("MSRUN_HOSTILE_AT")) {
    if (*setting("MSRUN_HOSTILE_KILL") != '\0') raise(SIGKILL);
    if (*setting("MSRUN_HOSTILE_FROM") != '\0') {
      next<decltype(rename)>("rename")(setting("MSRUN_HOSTILE_FROM"), setting("MSRUN_HOSTILE_TO"));
    }
  }
  errno = error;
}

}  // namespace

extern "C" {

int openat(int directory, const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const bool makes_a_file = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const mode_t mode = makes_a_file ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (makes_a_file) count(directory);
  if ((flags & O_TMPFILE) == O_TMPFILE && *setting("MSRUN_HOSTILE_OLD") != '\0' && is_hostile(directory)) {
    errno = EOPNOTSUPP;  // as of a file system that has no files without a name
    return -1;
  }
  const long scarce = number("MSRUN_HOSTILE_SCARCE");
  if (scarce > 0 && is_hostile(directory)) {
    const long open = ++opens - number("MSRUN_HOSTILE_AT");
    if (open >= 0 && open < scarce) {
      errno = ENFILE;
      return -1;
    }
  }
  return next<decltype(openat)>("openat")(directory, name, flags, mode);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  count(descriptor);
  return next<decltype(write)>("write")(descriptor, bytes, size);
}

int fsync(int descriptor) {
  count(descriptor);
  return next<decltype(fsync)>("fsync")(descriptor);
}

int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  count(from_directory);
  return next<decltype(renameat)>("renameat")(from_directory, from, to_directory, to);
}

int renameat2(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) noexcept {
  count(from_directory);
  if (*setting("MSRUN_HOSTILE_OLD") != '\0') {
    // As of a file system without these flags, or of a kernel without the call.
    errno = number("MSRUN_HOSTILE_OLD") == ENOSYS ? ENOSYS : EINVAL;
    return -1;
  }
  return next<decltype(renameat2)>("renameat2")(from_directory, from, to_directory, to, flags);
}

int linkat(int from_directory, const char* from, int to_directory, const char* to, int flags) noexcept {
  count(to_directory);
  return next<decltype(linkat)>("linkat")(from_directory, from, to_directory, to, flags);
}

int unlinkat(int directory, const char* name, int flags) noexcept {
  count(directory);
  return next<decltype(unlinkat)>("unlinkat")(directory, name, flags);
}

}  // extern "C"
