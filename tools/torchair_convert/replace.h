// Puts converted files in the place of dump files so that at every instant, whatever dies, each tensor is there as the
// one or the other (torchair.md 10.4).
//
// Per file: convert into a hidden temporary file, sync it, read it back, rename it to its target, sync the directory.
// Only then is the source renamed aside, where nobody else finds it, and deleted there if it is still the file that was
// read; otherwise it gets its name back. The files of a batch go through these steps together.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/unique_fd.h"
#include "tools/torchair_convert/convert_file.h"
#include "tools/torchair_convert/names.h"
#include "tools/torchair_convert/task_pool.h"

struct stat;

namespace msrun::convert {

class Directory {
 public:
  Directory(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_.get(); }

 private:
  std::string path_;
  UniqueFd descriptor_;
};

// What changes when somebody writes to a file or puts another in its place.
struct FileState {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // seconds since 1970; files may bear any time
  std::int64_t modified_nanoseconds = 0;

  static FileState of(const struct stat& status);
  bool operator==(const FileState&) const = default;
};

struct Candidate {
  std::shared_ptr<Directory> directory;
  std::string name;
  SourceKind kind = SourceKind::other;
  FileState state;

  // For messages.
  std::string path() const { return directory->path() + "/" + name; }
};

enum class Outcome : std::uint8_t {
  converted,
  busy,        // somebody writes to it, or did meanwhile
  incomplete,  // shorter or longer than it states
  nothing,     // sound, but without anything to convert
  damaged,     // cannot be read as what its name says
  failed,      // the system refused something
  no_space,
  no_descriptors,  // this process, or the system, has as many files open as it may
  vanished,
  stopped,  // not begun, because the program ends
};

struct Result {
  Outcome outcome = Outcome::stopped;
  std::string message;  // why it was not converted; one sentence
  std::string target;   // path, if it was
  std::uint64_t target_bytes = 0;
};

// Whether an errno means that no more files can be opened for now.
bool is_lack_of_descriptors(int error);

// Gives what was left aside by a killed converter its name back, unless there is a newer file of that name, which has
// then replaced it. False, with errno set, if that cannot be done.
bool take_back(const Directory& directory, const std::string& source);

class Replacer {
 public:
  // stop may become true at any time: files not yet begun are then left. pool and stop must outlive this.
  Replacer(Statistics statistics, TaskPool& pool, const std::atomic<bool>& stop)
      : statistics_(statistics), pool_(pool), stop_(stop) {}

  // One result per candidate. May be called by several threads, with a buffer each.
  std::vector<Result> replace(std::span<const Candidate> batch, std::span<std::byte> buffer) const;

 private:
  struct Work;
  void convert(Work& work, std::span<std::byte> buffer) const;
  static bool remove_source(Work& work);

  Statistics statistics_;
  TaskPool& pool_;
  const std::atomic<bool>& stop_;
  mutable Pace sync_pace_;
  mutable Pace directory_pace_;
  mutable Pace delete_pace_;
};

}  // namespace msrun::convert
