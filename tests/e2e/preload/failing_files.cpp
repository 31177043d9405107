// Loaded into a program with LD_PRELOAD: makes the nth operation on files of one directory fail, once.
//
// MSRUN_FAIL_DIR names the directory, MSRUN_FAIL_AT the operation (1 is the first), MSRUN_FAIL_ERRNO its errno, and
// MSRUN_FAIL_COUNT how many operations fail from there on (1 if it is not set). When the operation has failed, the file
// MSRUN_FAIL_MARK is created.
//
// MSRUN_FAIL_READDIR is the number of the entry of that directory, of all that are read, in whose place there is an
// error (EIO); these count apart.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/preload.h"

namespace {

std::atomic<long> operations{0};
std::atomic<long> entries{0};
std::atomic<bool> short_write{false};  // half of a write has arrived; what follows fails

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// True for the one operation that is to fail; errno is then set.
bool fails(const char* path) {
  const char* directory = setting("MSRUN_FAIL_DIR");
  if (*directory == '\0' || std::strncmp(path, directory, std::strlen(directory)) != 0) return false;
  const long first = std::strtol(setting("MSRUN_FAIL_AT"), nullptr, 10);
  const long count = *setting("MSRUN_FAIL_COUNT") == '\0' ? 1 : std::strtol(setting("MSRUN_FAIL_COUNT"), nullptr, 10);
  const long operation = operations.fetch_add(1) + 1;
  if (operation < first || operation - first >= count) return false;
  const int mark = open(setting("MSRUN_FAIL_MARK"), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (mark >= 0) close(mark);
  errno = static_cast<int>(std::strtol(setting("MSRUN_FAIL_ERRNO"), nullptr, 10));
  return true;
}

bool fails(int descriptor) {
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  return fails(path);
}

bool is_watched(DIR* directory) {
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd(directory));
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  return std::strcmp(path, setting("MSRUN_FAIL_DIR")) == 0;
}

}  // namespace

extern "C" {

dirent* readdir(DIR* directory) {
  const long failing = std::strtol(setting("MSRUN_FAIL_READDIR"), nullptr, 10);
  if (failing > 0 && is_watched(directory) && ++entries == failing) {
    errno = EIO;
    return nullptr;
  }
  return next<decltype(readdir)>("readdir")(directory);
}

// As a disk that fills: half of the bytes arrive, and the call for the rest fails.
ssize_t write(int descriptor, const void* bytes, size_t count) {
  if (short_write.exchange(false)) {
    errno = static_cast<int>(std::strtol(setting("MSRUN_FAIL_ERRNO"), nullptr, 10));
    return -1;
  }
  if (!fails(descriptor)) return next<decltype(write)>("write")(descriptor, bytes, count);
  if (count < 2) return -1;
  short_write = true;
  return next<decltype(write)>("write")(descriptor, bytes, count / 2);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset) {
  if (short_write.exchange(false)) {
    errno = static_cast<int>(std::strtol(setting("MSRUN_FAIL_ERRNO"), nullptr, 10));
    return -1;
  }
  if (!fails(descriptor)) return next<decltype(pwrite)>("pwrite")(descriptor, bytes, count, offset);
  if (count < 2) return -1;
  short_write = true;
  return next<decltype(pwrite)>("pwrite")(descriptor, bytes, count / 2, offset);
}

int fsync(int descriptor) { return fails(descriptor) ? -1 : next<decltype(fsync)>("fsync")(descriptor); }

int fdatasync(int descriptor) { return fails(descriptor) ? -1 : next<decltype(fdatasync)>("fdatasync")(descriptor); }

int rename(const char* from, const char* to) noexcept {
  return fails(from) ? -1 : next<decltype(rename)>("rename")(from, to);
}

// Whatever is done in a directory by name counts as done to the directory.
int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  return fails(from_directory) ? -1 : next<decltype(renameat)>("renameat")(from_directory, from, to_directory, to);
}

int renameat2(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) noexcept {
  if (fails(from_directory)) return -1;
  return next<decltype(renameat2)>("renameat2")(from_directory, from, to_directory, to, flags);
}

int unlinkat(int directory, const char* name, int flags) noexcept {
  return fails(directory) ? -1 : next<decltype(unlinkat)>("unlinkat")(directory, name, flags);
}

}  // extern "C"
