#include "journal/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "journal/error.h"
#include "journal/holder.h"
#include "kernels/base/unique_fd.h"

namespace msrun::journal {
namespace {

std::string describe(int code) { return std::generic_category().message(code); }

// Repeats a call that a signal interrupted.
template <typename Call>
auto retry(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

std::uint64_t size_of(int fd, const std::string& name) {
  struct stat status {};
  if (fstat(fd, &status) != 0) throw Error(name + ": cannot read: " + describe(errno));
  return static_cast<std::uint64_t>(status.st_size);
}

std::size_t read_from(int fd, const std::string& name, std::uint64_t offset, char* to, std::size_t count) {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = retry([&] { return pread(fd, to + done, count - done, static_cast<off_t>(offset + done)); });
    if (got < 0) throw Error(name + ": cannot read: " + describe(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

bool is_regular(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

// The root is above itself.
bool is_same_file(int one, int other) {
  struct stat first {};
  struct stat second {};
  return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

class FileSource final : public Source {
 public:
  FileSource(const std::filesystem::path& path, std::string name)
      : name_(std::move(name)), fd_(retry([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); })) {
    if (!fd_) throw Error(name_ + ": cannot open: " + describe(errno));
    if (!is_regular(fd_.get())) throw NotAJournal(name_ + " is not a journal: not a regular file");
  }
  std::string name() const override { return name_; }
  std::uint64_t size() const override { return size_of(fd_.get(), name_); }
  std::size_t read_at(std::uint64_t offset, char* to, std::size_t count) const override {
    return read_from(fd_.get(), name_, offset, to, count);
  }

 private:
  std::string name_;
  UniqueFd fd_;
};

class PosixFile final : public File {
 public:
  // O_APPEND: after a cut the next write goes to the new end without a seek.
  PosixFile(const std::filesystem::path& path, int flags)
      : name_(path.string()), fd_(retry([&] {
          return open(path.c_str(), flags | O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0666);
        })) {
    if (!fd_ && errno == ELOOP) throw NotAJournal(name_ + " is a symbolic link; name the journal itself");
    if (!fd_) throw WriteError(name_, (flags & O_CREAT) != 0 ? "create" : "open", errno);
    if (!is_regular(fd_.get())) throw NotAJournal(name_ + " is not a journal: not a regular file");
    unsynced_name_ = (flags & O_CREAT) != 0;
    lock(unsynced_name_);
    const std::filesystem::path folder = path.parent_path().empty() ? std::filesystem::path(".") : path.parent_path();
    directory_.reset(retry([&] { return open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    end_ = size();
  }

  std::string name() const override { return name_; }
  std::uint64_t size() const override { return size_of(fd_.get(), name_); }
  std::size_t read_at(std::uint64_t offset, char* to, std::size_t count) const override {
    return read_from(fd_.get(), name_, offset, to, count);
  }

  std::size_t append(std::string_view bytes) override {
    require_whole("write");
    const ssize_t written = retry([&] { return write(fd_.get(), bytes.data(), bytes.size()); });
    if (written <= 0) throw WriteError(name_, "write", written < 0 ? errno : EIO);
    end_ += static_cast<std::uint64_t>(written);
    return static_cast<std::size_t>(written);
  }

  void sync() override {
    if (retry([&] { return fdatasync(fd_.get()); }) != 0) throw WriteError(name_, "sync", errno);
    if (unsynced_name_ && directory_) sync_directory();
    unsynced_name_ = false;
  }

  void truncate(std::uint64_t size) override {
    require_whole("cut");
    if (retry([&] { return ftruncate(fd_.get(), static_cast<off_t>(size)); }) != 0) {
      throw WriteError(name_, "cut", errno);
    }
    end_ = size;
  }

  void close() override {
    require_whole("complete");
    const int fd = fd_.release();
    if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) throw WriteError(name_, "close", errno);
  }

 private:
  // What is written to a file that no longer has its name is not found again, and behind bytes that somebody else has
  // cut off nothing can be read. The folder is the one that the name was made in: it may have been moved as a whole.
  void require_whole(const char* action) const {
    struct stat status {};
    if (fstat(fd_.get(), &status) != 0) throw WriteError(name_, action, errno);
    if (status.st_nlink == 0 || !has_its_name(status)) throw WriteError(name_, action, ENOENT);
    if (static_cast<std::uint64_t>(status.st_size) >= end_) return;
    throw WriteError(name_, action, ESTALE,
                     "of the " + std::to_string(end_) + " bytes that were written " + std::to_string(status.st_size) +
                         " are left, something else has cut it");
  }

  bool has_its_name(const struct stat& status) const {
    if (!directory_) return true;
    struct stat named {};
    const std::string base = std::filesystem::path(name_).filename().string();
    if (fstatat(directory_.get(), base.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) return errno != ENOENT;
    return named.st_dev == status.st_dev && named.st_ino == status.st_ino;
  }

  void lock(bool is_new) {
    // Locked, but by nobody: a writer was killed and its children have yet to notice, or one is just beginning.
    constexpr std::chrono::milliseconds pause{10};
    int pauses = 100;
    while (retry([&] { return flock(fd_.get(), LOCK_EX | LOCK_NB); }) != 0) {
      if (errno != EWOULDBLOCK) return refused(is_new);
      const std::optional<Holder> holder = find_holder(fd_.get());
      if (holder || pauses-- == 0) {
        throw Locked(name_ + " is in use: another run is writing this journal" +
                     (holder ? ": " + holder_text(*holder) : ", or is just ending"));
      }
      std::this_thread::sleep_for(pause);
    }
    become_holder(fd_.get());
  }

  // errno says why there is no lock.
  void refused(bool is_new) {
    const bool no_locks_here = errno == ENOSYS || errno == EOPNOTSUPP || errno == EINVAL;
    if (no_locks_here) return;
    const int code = errno;
    if (is_new) unlink(name_.c_str());
    throw WriteError(name_, "lock", code);
  }

  // A new file survives a power loss only when its name does, and the names of the folders above it, which may be new
  // as well. A folder that may not be opened for reading, or a file system that cannot sync folders, leaves nothing to
  // do.
  void sync_directory() {
    UniqueFd above;
    for (int folder = directory_.get();;) {
      const bool failed = retry([&] { return fsync(folder); }) != 0;
      // Folders above it matter only if they are of this file system and can be synced.
      if (failed && !above && errno != EINVAL && errno != EOPNOTSUPP) {
        throw WriteError(name_, "sync the folder of", errno);
      }
      UniqueFd next(retry([&] { return openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
      if (!next || is_same_file(next.get(), folder)) return;
      above = std::move(next);
      folder = above.get();
    }
  }

  std::string name_;
  UniqueFd fd_;
  UniqueFd directory_;          // that its name is in; none if that may not be opened
  std::uint64_t end_ = 0;       // of what was read or written: nobody else cuts the file
  bool unsynced_name_ = false;  // the folders are to be synced with the file
};

}  // namespace

WriteError::WriteError(const std::string& file_name, const std::string& action, int code)
    : WriteError(file_name, action, code, describe(code)) {}

WriteError::WriteError(const std::string& file_name, const std::string& action, int code, const std::string& reason)
    : Error("cannot " + action + " " + file_name + ": " + reason), code_(code) {}

std::size_t MemorySource::read_at(std::uint64_t offset, char* to, std::size_t count) const {
  if (offset >= bytes_.size()) return 0;
  return bytes_.copy(to, count, static_cast<std::size_t>(offset));
}

std::unique_ptr<Source> open_source(const std::filesystem::path& path, const std::string& name) {
  return std::make_unique<FileSource>(path, name.empty() ? path.string() : name);
}

std::unique_ptr<File> create_file(const std::filesystem::path& path) {
  return std::make_unique<PosixFile>(path, O_CREAT | O_EXCL);
}

std::unique_ptr<File> open_file(const std::filesystem::path& path) { return std::make_unique<PosixFile>(path, 0); }

}  // namespace msrun::journal
