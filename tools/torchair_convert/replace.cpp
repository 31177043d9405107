#include "tools/torchair_convert/replace.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "kernels/base/write_all.h"
#include "kernels/io/numpy/npy_header.h"

namespace msrun::convert {
namespace {

constexpr mode_t permission_bits = 07777;

std::string cause(int error) { return std::generic_category().message(error); }

bool holds(int descriptor, std::string_view bytes) {
  std::string read(bytes.size() + 1, '\0');
  std::size_t size = 0;
  while (size < read.size()) {
    const ssize_t count = ::read(descriptor, read.data() + size, read.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  return std::string_view(read).substr(0, size) == bytes;
}

enum class Writers : std::uint8_t { none, some, unknown };

// The kernel grants a read lease only while nobody has the file open for writing. It may not offer leases: for files of
// others, and on network file systems.
Writers take_lease(int descriptor) {
  if (::fcntl(descriptor, F_SETLEASE, F_RDLCK) == 0) return Writers::none;
  return errno == EAGAIN ? Writers::some : Writers::unknown;
}

void give_back_lease(int descriptor) { ::fcntl(descriptor, F_SETLEASE, F_UNLCK); }

// Renames what nobody else knows by its name within its directory. Never replaces a file: false with errno EEXIST.
bool rename_to_new(int directory, const std::string& from, const std::string& to) {
  if (::renameat2(directory, from.c_str(), directory, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  // The file system cannot do that in one step. Should the program die between these two, the file has both names.
  if (::linkat(directory, from.c_str(), directory, to.c_str(), 0) != 0) return false;
  return ::unlinkat(directory, from.c_str(), 0) == 0;
}

}  // namespace

bool is_lack_of_descriptors(int error) { return error == EMFILE || error == ENFILE; }

bool take_back(const Directory& directory, const std::string& source) {
  const std::string aside = aside_name(source);
  if (rename_to_new(directory.descriptor(), aside, source) || errno == ENOENT) return true;
  return errno == EEXIST && ::unlinkat(directory.descriptor(), aside.c_str(), 0) == 0;
}

FileState FileState::of(const struct stat& status) {
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size), status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec};
}

// One file on its way. What ends it before its temporary file was renamed, an exception included, removes that file.
struct Replacer::Work {
  const Candidate* candidate = nullptr;
  Result* result = nullptr;
  std::optional<InputFile> source;
  std::string target;
  std::string temporary;
  std::string bytes;
  UniqueFd output;
  bool going_on = true;
  bool has_temporary = false;

  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  ~Work() { remove_temporary(); }

  int directory() const { return candidate->directory->descriptor(); }
  std::string in_directory(const std::string& name) const { return candidate->directory->path() + "/" + name; }

  void end(Outcome outcome, std::string message = {}) {
    result->outcome = outcome;
    result->message = std::move(message);
    source.reset();
    output.reset();
    remove_temporary();
    going_on = false;
  }
  void fail(const std::string& what, const std::string& name, int error) {
    fail_at("The file " + in_directory(name), what, error);
  }
  void fail_at(const std::string& place, const std::string& what, int error) {
    const bool full = error == ENOSPC || error == EDQUOT;
    const Outcome outcome = full                            ? Outcome::no_space
                            : is_lack_of_descriptors(error) ? Outcome::no_descriptors
                                                            : Outcome::failed;
    end(outcome, place + " cannot be " + what + ": " + cause(error) + ".");
  }
  void remove_temporary() {
    if (std::exchange(has_temporary, false)) ::unlinkat(directory(), temporary.c_str(), 0);
  }
};

// Up to a written but not yet synced temporary file.
void Replacer::convert(Work& work, std::span<std::byte> buffer) const {
  const Candidate& candidate = *work.candidate;
  const int opened = ::openat(work.directory(), candidate.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (opened < 0) {
    if (errno == ENOENT) return work.end(Outcome::vanished);
    return work.fail("opened", candidate.name, errno);
  }
  struct stat status {};
  try {
    work.source.emplace(candidate.path(), opened);
    if (::fstat(opened, &status) != 0) return work.fail("read", candidate.name, errno);
    if (FileState::of(status) != candidate.state) return work.end(Outcome::busy);
    const Writers writers = take_lease(opened);
    if (writers == Writers::some) return work.end(Outcome::busy);
    if (writers == Writers::none) give_back_lease(opened);
    work.bytes = converted_bytes(*work.source, candidate.kind, statistics_, buffer);
  } catch (const IncompleteFileError& error) {
    return work.end(Outcome::incomplete, error.what());
  } catch (const NothingToConvertError& error) {
    return work.end(Outcome::nothing, error.what());
  } catch (const SkipError& error) {
    return work.end(Outcome::damaged, error.what());
  } catch (const FileError& error) {
    return work.end(Outcome::failed, error.what());
  } catch (const std::bad_alloc&) {
    return work.end(Outcome::failed, "There is not enough memory to convert " + candidate.path() + ".");
  }
  const std::optional<std::string> target = target_name(candidate.kind, candidate.name);
  if (!target) {
    return work.end(Outcome::nothing, "The name of " + candidate.path() + " is too long for that of a converted file.");
  }
  work.target = *target;
  work.temporary = temporary_name(work.target, ::getpid());
  const auto create = [&] {
    return UniqueFd(::openat(work.directory(), work.temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, status.st_mode & permission_bits));
  };
  work.output = create();
  if (!work.output && errno == EEXIST && ::unlinkat(work.directory(), work.temporary.c_str(), 0) == 0) {
    work.output = create();
  }
  if (!work.output) return work.fail("created", work.temporary, errno);
  work.has_temporary = true;
  if (status.st_uid != ::geteuid() || status.st_gid != ::getegid()) {
    // Who may not give files away keeps them; that is no reason to keep the large file.
    [[maybe_unused]] const int ignored = ::fchown(work.output.get(), status.st_uid, status.st_gid);
  }
  if (::fchmod(work.output.get(), status.st_mode & permission_bits) != 0) {
    return work.fail("given its mode", work.temporary, errno);
  }
  if (!write_all(work.output.get(), work.bytes)) return work.fail("written", work.temporary, errno);
  // Lets the disk begin; the sync that counts is fsync.
  ::sync_file_range(work.output.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
}

// False if the work has ended because the source is no longer what was read, or cannot be deleted.
bool Replacer::remove_source(Work& work) {
  const Candidate& candidate = *work.candidate;
  const std::string aside = aside_name(candidate.name);
  // Held until the source is closed, so that nobody can begin to write to what is being deleted.
  const Writers writers = take_lease(work.source->descriptor());
  const auto state_of = [&](const std::string& name) -> std::optional<FileState> {
    struct stat status {};
    if (::fstatat(work.directory(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
    return FileState::of(status);
  };
  const auto give_up = [&](const char* what) {
    const int error = errno;
    error == ENOENT ? work.end(Outcome::vanished) : work.fail(what, candidate.name, error);
    return false;
  };
  const auto leave_it = [&] {
    ::unlinkat(work.directory(), work.target.c_str(), 0);
    work.end(Outcome::busy);
    return false;
  };
  const std::optional<FileState> seen = state_of(candidate.name);
  if (!seen) return give_up("read");
  if (writers == Writers::some || *seen != candidate.state) return leave_it();
  // Somebody may put another file in its place at any time: only what nobody else can reach any more is looked at for
  // the last time.
  // What an earlier converter has left there was replaced by this source.
  ::unlinkat(work.directory(), aside.c_str(), 0);
  if (::renameat(work.directory(), candidate.name.c_str(), work.directory(), aside.c_str()) != 0) {
    return give_up("set aside");
  }
  if (state_of(aside) != candidate.state) {
    if (!take_back(*candidate.directory, candidate.name)) return give_up("given its name back");
    return leave_it();
  }
  if (::unlinkat(work.directory(), aside.c_str(), 0) == 0 || errno == ENOENT) return true;
  const int error = errno;
  take_back(*candidate.directory, candidate.name);
  work.fail("deleted", candidate.name, error);
  return false;
}

std::vector<Result> Replacer::replace(std::span<const Candidate> batch, std::span<std::byte> buffer) const {
  std::vector<Result> results(batch.size());
  std::vector<Work> all(batch.size());
  std::vector<Work*> going_on;
  for (std::size_t i = 0; i < batch.size() && !stop_; ++i) {
    all[i].candidate = &batch[i];
    all[i].result = &results[i];
    convert(all[i], buffer);
    if (all[i].going_on) going_on.push_back(&all[i]);
  }
  const auto for_each = [&](Pace& pace, auto step) {
    pool_.for_each(going_on.size(), pace, [&](std::size_t i) { step(*going_on[i]); });
    std::erase_if(going_on, [](const Work* work) { return !work->going_on; });
  };

  for_each(sync_pace_, [](Work& work) {
    if (::fsync(work.output.get()) != 0) return work.fail("synced", work.temporary, errno);
    work.output.reset();
    UniqueFd written(::openat(work.directory(), work.temporary.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!written) return work.fail("opened", work.temporary, errno);
    if (!holds(written.get(), work.bytes)) return work.fail("read back as it was written", work.temporary, EIO);
    try {
      check_converted(InputFile(work.in_directory(work.temporary), written.release()), work.candidate->kind);
    } catch (const std::runtime_error& error) {
      work.end(Outcome::failed, error.what());
    }
  });
  for (Work* work : going_on) {
    if (::renameat(work->directory(), work->temporary.c_str(), work->directory(), work->target.c_str()) != 0) {
      work->fail("renamed", work->temporary, errno);
    }
    work->has_temporary = false;
  }
  std::erase_if(going_on, [](const Work* work) { return !work->going_on; });

  std::vector<std::pair<const Directory*, int>> directories;  // with the error of their sync, or 0
  for (const Work* work : going_on) {
    const Directory* directory = work->candidate->directory.get();
    if (directories.empty() || directories.back().first != directory) directories.emplace_back(directory, 0);
  }
  std::sort(directories.begin(), directories.end());
  directories.erase(std::unique(directories.begin(), directories.end()), directories.end());
  pool_.for_each(directories.size(), directory_pace_, [&](std::size_t i) {
    if (::fsync(directories[i].first->descriptor()) != 0) directories[i].second = errno;
  });

  for_each(delete_pace_, [&](Work& work) {
    const Candidate& candidate = *work.candidate;
    const auto synced = std::lower_bound(directories.begin(), directories.end(),
                                         std::pair<const Directory*, int>(candidate.directory.get(), 0));
    if (synced->second != 0) {
      return work.fail_at("The directory " + candidate.directory->path(), "synced", synced->second);
    }
    if (!remove_source(work)) return;
    work.result->target = work.in_directory(work.target);
    work.result->target_bytes = work.bytes.size();
    work.end(Outcome::converted);
  });
  return results;
}

}  // namespace msrun::convert
