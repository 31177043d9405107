// Loaded into a program with LD_PRELOAD: writes down, in their order, what it does to files and folders below a folder,
// so that a test can tell what a power loss at any instant may leave of it.
//
// MSRUN_RECORD_DIR names the folder and MSRUN_RECORD_LOG the file that the steps are appended to, one after the other
// with one write each: "<step> <inode> <number> <bytes>\n", two lines with paths, and the bytes written.
//   create, truncate <size>, write <offset>, sync (of a file), sync_folder, name (a path now leads to the inode),
//   unname, mkdir
// MSRUN_RECORD_SPEED lets the clock of intervals run so many times faster, so that a short run makes as many syncs as a
// long one.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include "tests/support/preload.h"

namespace {

std::string_view setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_recorded(std::string_view path) {
  const std::string_view folder = setting("MSRUN_RECORD_DIR");
  return !folder.empty() && path.substr(0, folder.size()) == folder;
}

std::string path_of(int descriptor) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = readlink(link.c_str(), path, sizeof path);
  return length <= 0 ? std::string() : std::string(path, static_cast<std::size_t>(length));
}

std::string path_at(int directory, const char* name) {
  if (*name == '/') return name;
  if (directory != AT_FDCWD) return path_of(directory) + "/" + name;
  char current[4096];
  return getcwd(current, sizeof current) == nullptr ? std::string(name) : std::string(current) + "/" + name;
}

unsigned long inode_of(const std::string& path) {
  struct stat status {};
  return fstatat(AT_FDCWD, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_ino : 0;
}

struct stat status_of(int descriptor) {
  struct stat status {};
  fstat(descriptor, &status);
  return status;
}

void record(const char* step, unsigned long inode, long long number, const std::string& path,
            std::string_view bytes = {}) {
  const int code = errno;
  std::string line = std::string(step) + " " + std::to_string(inode) + " " + std::to_string(number) + " " +
                     std::to_string(bytes.size()) + "\n" + path + "\n";
  line += bytes;
  const std::string log(setting("MSRUN_RECORD_LOG"));
  const int descriptor =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (descriptor < 0 || syscall(SYS_write, descriptor, line.data(), line.size()) != static_cast<long>(line.size())) {
    std::abort();
  }
  syscall(SYS_close, descriptor);
  errno = code;
}

int opened(int descriptor, const std::string& path, bool existed, int flags) {
  if (descriptor < 0 || !is_recorded(path)) return descriptor;
  const struct stat status = status_of(descriptor);
  if (!S_ISREG(status.st_mode)) return descriptor;
  if (!existed) {
    record("create", status.st_ino, 0, path);
    if ((flags & O_TMPFILE) != O_TMPFILE) record("name", status.st_ino, 0, path);
  } else if ((flags & O_TRUNC) != 0) {
    record("truncate", status.st_ino, 0, path);
  }
  return descriptor;
}

int open_recorded(int directory, const char* name, int flags, mode_t mode) {
  const std::string path = path_at(directory, name);
  const bool existed = inode_of(path) != 0 && (flags & O_TMPFILE) != O_TMPFILE;
  return opened(static_cast<int>(syscall(SYS_openat, directory, name, flags, mode)), path, existed, flags);
}

void written(int descriptor, long long offset, std::string_view bytes) {
  const std::string path = path_of(descriptor);
  if (is_recorded(path)) record("write", status_of(descriptor).st_ino, offset, path, bytes);
}

// Where a write without an offset goes.
long long offset_of(int descriptor) {
  if ((fcntl(descriptor, F_GETFL) & O_APPEND) != 0) return status_of(descriptor).st_size;
  return lseek(descriptor, 0, SEEK_CUR);
}

void moved(const std::string& from, const std::string& to) {
  if (!is_recorded(from) && !is_recorded(to)) return;
  record("name", inode_of(to), 0, to);
  record("unname", 0, 0, from);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_recorded(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_recorded(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_recorded(directory, path, flags, mode);
}

int openat64(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_recorded(directory, path, flags, mode);
}

ssize_t write(int descriptor, const void* bytes, size_t count) {
  const long long offset = offset_of(descriptor);
  const ssize_t done = next<decltype(write)>("write")(descriptor, bytes, count);
  if (done > 0 && offset >= 0) {
    written(descriptor, offset, {static_cast<const char*>(bytes), static_cast<std::size_t>(done)});
  }
  return done;
}

ssize_t writev(int descriptor, const iovec* pieces, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
  return write(descriptor, bytes.data(), bytes.size());
}

ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset) {
  const ssize_t done = next<decltype(pwrite)>("pwrite")(descriptor, bytes, count, offset);
  if (done > 0) written(descriptor, offset, {static_cast<const char*>(bytes), static_cast<std::size_t>(done)});
  return done;
}

int ftruncate(int descriptor, off_t size) noexcept {
  const int result = next<decltype(ftruncate)>("ftruncate")(descriptor, size);
  const std::string path = path_of(descriptor);
  if (result == 0 && is_recorded(path)) record("truncate", status_of(descriptor).st_ino, size, path);
  return result;
}

int fsync(int descriptor) {
  const int result = next<decltype(fsync)>("fsync")(descriptor);
  const std::string path = path_of(descriptor);
  const struct stat status = status_of(descriptor);
  // The folder above the one that is recorded holds its name.
  if (result == 0 && S_ISDIR(status.st_mode)) record("sync_folder", status.st_ino, 0, path);
  if (result == 0 && S_ISREG(status.st_mode) && is_recorded(path)) record("sync", status.st_ino, 0, path);
  return result;
}

int fdatasync(int descriptor) {
  const int result = next<decltype(fdatasync)>("fdatasync")(descriptor);
  const std::string path = path_of(descriptor);
  if (result == 0 && is_recorded(path)) record("sync", status_of(descriptor).st_ino, 0, path);
  return result;
}

int rename(const char* from, const char* to) noexcept {
  const int result = next<decltype(rename)>("rename")(from, to);
  if (result == 0) moved(path_at(AT_FDCWD, from), path_at(AT_FDCWD, to));
  return result;
}

int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  const int result = next<decltype(renameat)>("renameat")(from_directory, from, to_directory, to);
  if (result == 0) moved(path_at(from_directory, from), path_at(to_directory, to));
  return result;
}

int renameat2(int from_directory, const char* from, int to_directory, const char* to, unsigned int flags) noexcept {
  const int result = next<decltype(renameat2)>("renameat2")(from_directory, from, to_directory, to, flags);
  if (result == 0) moved(path_at(from_directory, from), path_at(to_directory, to));
  return result;
}

int linkat(int from_directory, const char* from, int to_directory, const char* to, int flags) noexcept {
  const int result = next<decltype(linkat)>("linkat")(from_directory, from, to_directory, to, flags);
  const std::string path = path_at(to_directory, to);
  if (result == 0 && is_recorded(path)) record("name", inode_of(path), 0, path);
  return result;
}

int link(const char* from, const char* to) noexcept { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int directory, const char* name, int flags) noexcept {
  const std::string path = path_at(directory, name);
  const int result = next<decltype(unlinkat)>("unlinkat")(directory, name, flags);
  if (result == 0 && is_recorded(path)) record("unname", 0, 0, path);
  return result;
}

int unlink(const char* name) noexcept { return unlinkat(AT_FDCWD, name, 0); }

int remove(const char* name) noexcept {
  const std::string path = path_at(AT_FDCWD, name);
  const int result = next<decltype(remove)>("remove")(name);
  if (result == 0 && is_recorded(path)) record("unname", 0, 0, path);
  return result;
}

int mkdirat(int directory, const char* name, mode_t mode) noexcept {
  const std::string path = path_at(directory, name);
  const int result = next<decltype(mkdirat)>("mkdirat")(directory, name, mode);
  if (result == 0 && is_recorded(path)) record("mkdir", inode_of(path), 0, path);
  return result;
}

int mkdir(const char* name, mode_t mode) noexcept { return mkdirat(AT_FDCWD, name, mode); }

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  const std::string_view speed = setting("MSRUN_RECORD_SPEED");
  if (clock != CLOCK_MONOTONIC || speed.empty()) return result;
  const long long factor = std::strtoll(speed.data(), nullptr, 10);
  const long long nanoseconds = time->tv_nsec * factor;
  time->tv_sec = time->tv_sec * factor + nanoseconds / 1'000'000'000;
  time->tv_nsec = nanoseconds % 1'000'000'000;
  return result;
}

}  // extern "C"
